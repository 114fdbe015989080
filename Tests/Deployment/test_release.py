"""The steps of a release that need no build: notes, sums, the refusal of changes, and the comparison of two builds."""

import pathlib
import shutil

import pytest
from programs import run, succeed

HOUSE = pathlib.Path(__file__).resolve().parents[2]


# Release notes


CHANGELOG = """# Changelog

## [Unreleased]

- What is new.

## [0.10.0] - 2026-11-30

### Fixed

- A brace: `{stem}`.

## [0.1.0] - 2026-11-25

## [0.0.1]

- The first.
"""


@pytest.fixture
def changelog(tmp_path):
    file = tmp_path / "CHANGELOG.md"
    file.write_text(CHANGELOG)
    return file


@pytest.mark.parametrize(
    "version, notes",
    [
        ("0.10.0", "### Fixed\n\n- A brace: `{stem}`.\n"),
        ("0.0.1", "- The first.\n"),
        ("0.11.0-dev", "- What is new.\n"),
    ],
)
def test_notes_are_the_section_of_the_version(changelog, version, notes):
    done = succeed(HOUSE / "scripts/release-notes", version, changelog)
    assert done.stdout == f"# Sluice {version}\n\n{notes}"


@pytest.mark.parametrize("version", ["0.2.0", "0.1", "0x10.0", "0.1.0"])
def test_a_section_that_is_missing_or_empty_fails(changelog, version):
    done = run(HOUSE / "scripts/release-notes", version, changelog)
    assert done.returncode == 1 and done.stdout == ""
    assert f'no section "## [{version}]"' in done.stderr


def test_the_notes_of_this_source(tmp_path):
    succeed(HOUSE / "scripts/make-release", tmp_path, "notes")
    assert (tmp_path / "NOTES.md").read_text().startswith("# Sluice ")
    assert "The first release." in succeed(HOUSE / "scripts/release-notes", "0.1.0", HOUSE / "CHANGELOG.md").stdout


# Sums


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    for name in ["NOTES.md", "trixie/a b.deb", "bookworm/sluice.tar"]:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return folder


def check(folder):
    return run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)


def test_sums_name_each_file_once(files):
    succeed(HOUSE / "scripts/make-release", files, "sums")
    first = (files / "SHA256SUMS").read_text()
    assert [line[66:] for line in first.splitlines()] == ["NOTES.md", "bookworm/sluice.tar", "trixie/a b.deb"]
    assert check(files).returncode == 0
    succeed(HOUSE / "scripts/make-release", files, "sums")
    assert (files / "SHA256SUMS").read_text() == first


def test_a_changed_file_has_another_sum(files):
    succeed(HOUSE / "scripts/make-release", files, "sums")
    (files / "trixie/a b.deb").write_text("another")
    done = check(files)
    assert done.returncode != 0 and "trixie/a b.deb: FAILED" in done.stdout


def test_a_folder_without_files_has_no_sums(tmp_path):
    done = run(HOUSE / "scripts/make-release", tmp_path, "sums")
    assert done.returncode != 0 and not list(tmp_path.iterdir())


# What a release begins with


@pytest.fixture
def clone(tmp_path):
    """A repository with the scripts of this source, and one commit."""
    folder = tmp_path / "clone"
    scripts = [f"scripts/{name}" for name in ["make-release", "release-notes", "build-twice"]]
    for name in [*scripts, "Sources/PumpRoom/Wire/SluiceBuild.swift", "CHANGELOG.md"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HOUSE / name, folder / name)
    # A build that takes no time, whose programs are a file of the source.
    (folder / "Makefile").write_text(
        "shipped:\n\tfor name in sluice sluice-room; do install -D CHANGELOG.md .build/shipped/release/$$name; done\n"
    )
    (folder / ".gitignore").write_text("/.build/\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    succeed("git", "init", "--quiet", cwd=folder)
    succeed("git", "add", ".", cwd=folder)
    succeed(*git, "commit", "--quiet", "--message", "One", cwd=folder)
    return folder


def test_a_clean_commit_may_be_released(clone, tmp_path):
    done = succeed(clone / "scripts/make-release", tmp_path / "out", "check")
    assert "release: checking version" in done.stdout


@pytest.mark.parametrize("name", ["CHANGELOG.md", "new"])
@pytest.mark.parametrize("step", ["check", "bookworm", "trixie"])
def test_changes_that_are_not_committed_are_refused(clone, tmp_path, name, step):
    with open(clone / name, "a") as file:
        file.write("\n")
    done = run(clone / "scripts/make-release", tmp_path / "out", step)
    assert done.returncode != 0 and "not committed" in done.stderr and name in done.stderr


def test_all_steps_need_a_new_folder(clone, files):
    done = run(clone / "scripts/make-release", files)
    assert done.returncode != 0 and "is not empty" in done.stderr


def test_unknown_steps_are_refused(tmp_path):
    done = run(HOUSE / "scripts/make-release", tmp_path, "notes", "publish")
    assert done.returncode != 0 and 'unknown step "publish"' in done.stderr
    assert not list(tmp_path.iterdir())


# Two builds


def build_twice(clone, output, script):
    """`script` makes a file `$1/made` of the command `$0`."""
    return run(clone / "scripts/build-twice", output, "sh", "-c", f'mkdir "$1"; {script}', cwd=clone)


def test_what_two_builds_make_alike_is_there(clone, tmp_path):
    done = build_twice(clone, tmp_path / "out", 'sha256sum <"$0" >"$1/made"')
    assert done.returncode == 0 and "both have the SHA-256" in done.stdout, done.both
    digest = (tmp_path / "out/made").read_text().split()[0]
    assert digest in done.stdout and digest == succeed("sha256sum", clone / "CHANGELOG.md").stdout.split()[0]
    assert not (clone / ".build/not-reproducible").exists()


@pytest.mark.parametrize("differing", ["pwd", "date +%Z", "umask", "cat /proc/sys/kernel/random/uuid"])
def test_what_two_builds_make_differently_is_refused_and_kept(clone, tmp_path, differing):
    done = build_twice(clone, tmp_path / "out", f'{differing} >"$1/made"')
    assert done.returncode == 1 and "differs" in done.stderr, done.both
    kept = [(clone / ".build/not-reproducible" / name / "made/made").read_text() for name in ["first", "second"]]
    assert kept[0] != kept[1]
    assert not list((tmp_path / "out").iterdir())


def test_commands_that_differ_are_refused(clone, tmp_path):
    (clone / "Makefile").write_text("shipped:\n\tmkdir -p .build/shipped/release\n\tpwd | tee .build/shipped/release/sluice >.build/shipped/release/sluice-room\n")
    succeed("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--all", "--message", "Two", cwd=clone)
    done = build_twice(clone, tmp_path / "out", 'touch "$1/made"')
    assert done.returncode == 1 and "the commands differ" in done.stderr, done.both
