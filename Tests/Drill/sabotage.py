"""Proves that the checker sees each kind of damage: does the damage, has the checker look, and repairs it."""

import contextlib
import os

from machines import Broken, wait_until


class Sabotage:
    def __init__(self, cluster, checker):
        self.cluster, self.checker = cluster, checker
        self.name = sorted(checker.wanted())[0]
        self.path = cluster.out / self.name

    def prove(self):
        """Raises `Broken` if the checker is blind to some damage, or if something is broken without any."""
        if wrong := self.checker.examine()[1]:
            raise Broken("\n".join(wrong))
        for damage, finding in [
            (self.truncate, "differs from the ledger"), (self.replace, "differs from a conversion without faults"),
            (self.remove, "completed without an output"), (self.add, "files that belong to no job"),
            (self.hide, "hidden files that no sweep removes"), (self.forget_job, "jobs that nobody submitted"),
            (self.expect_job, "jobs that the ledger has lost"), (self.spend, "jobs that spent an attempt on a fault"),
            (self.fail, "attempts that failed"), (self.lose_record, "jobs with a claim that left no record"),
            (self.publish_again, "published more than once"),
        ]:
            with damage():
                self.expect(finding)
        if wrong := self.checker.examine()[1]:
            raise Broken(f"sabotage was not repaired: {wrong}")

    def expect(self, finding):
        wrong = self.checker.examine(patience=0)[1]
        if not any(line.startswith(f"{finding}: ") for line in wrong):
            raise Broken(f"the checker does not see sabotage: \"{finding}\" is not among {wrong}")

    def number(self):
        location = "recipe #>> '{{outputs,0,location}}'"
        return self.checker.query(f"select id from sluice.job where {location} = 'out:{self.name}'")

    @contextlib.contextmanager
    def truncate(self):
        whole = self.path.read_bytes()
        os.truncate(self.path, len(whole) - 1)
        yield
        with open(self.path, "r+b") as file:
            file.write(whole)

    @contextlib.contextmanager
    def replace(self):
        """Other sound than that of the source, which the ledger believes in."""
        references, stem = self.checker.references, self.name.split("-")[0]
        digest = references[stem]
        references[stem] = "0" * 64
        yield
        references[stem] = digest

    @contextlib.contextmanager
    def remove(self):
        names, count = self.checker.watch.names, self.checker.watch.names[self.name]
        aside = self.cluster.folder / self.name
        self.path.rename(aside)
        yield
        aside.rename(self.path)
        wait_until("inotify reports the name again", lambda: names[self.name] > count)
        names[self.name] = count

    @contextlib.contextmanager
    def publish_again(self):
        names = self.checker.watch.names
        count = names[self.name]
        whole = self.path.read_bytes()
        self.path.unlink()
        self.path.write_bytes(whole)
        wait_until("inotify reports the name again", lambda: names[self.name] > count)
        yield
        names[self.name] = count

    @contextlib.contextmanager
    def add(self):
        other = self.cluster.out / "other"
        other.touch()
        yield
        other.unlink()

    @contextlib.contextmanager
    def hide(self):
        other = self.cluster.out / f".{self.name}.sluice-1.part"
        other.touch()
        yield
        other.unlink()

    @contextlib.contextmanager
    def forget_job(self):
        names = next(names for names in self.cluster.submitted.values() if self.name in names)
        names.remove(self.name)
        yield
        names.append(self.name)

    @contextlib.contextmanager
    def expect_job(self):
        self.cluster.submitted["never"] = ["clip00-never.opus"]
        yield
        del self.cluster.submitted["never"]

    @contextlib.contextmanager
    def spend(self):
        number = self.number()
        self.checker.query(f"update sluice.finished set spent = 2 where job = {number}")
        yield
        self.checker.query(f"update sluice.finished set spent = 1 where job = {number}")

    @contextlib.contextmanager
    def fail(self):
        number = self.number()
        failed = "outcome = 'failed', code = 'destination_exists', class = 'permanent', stage = 'publish'"
        self.checker.query(f"update sluice.attempt set {failed} where job = {number} and outcome = 'completed'")
        yield
        whole = "outcome = 'completed', code = null, class = null, stage = null"
        self.checker.query(f"update sluice.attempt set {whole} where job = {number} and code = 'destination_exists'")

    @contextlib.contextmanager
    def lose_record(self):
        number = self.number()
        self.checker.query(f"update sluice.finished set epoch = epoch + 1 where job = {number}")
        yield
        self.checker.query(f"update sluice.finished set epoch = epoch - 1 where job = {number}")
