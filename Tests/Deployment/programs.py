"""Runs programs and keeps what they print."""

import subprocess


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    done.both = done.stdout + done.stderr
    return done


def succeed(*words, **options):
    done = run(*words, **options)
    assert done.returncode == 0, done.both
    return done
