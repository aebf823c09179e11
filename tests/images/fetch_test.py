#!/usr/bin/env python3
"""tools/fetch-debs, with a folder in place of the configured mirror and a server on loopback in place of
snapshot.debian.org. Both are signed archives, made here with a throw-away key."""
import contextlib
import functools
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "fetch-debs"
DATE = [line for line in (ROOT / "deploy/images/snapshot").read_text().splitlines() if line[:1] != "#"][0]
CODENAME = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/usr/lib/os-release").read_text(), re.M)[1]
ARCHITECTURE = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Key:
    def __init__(self, folder):
        self.home = folder / "gnupg"
        self.home.mkdir(mode=0o700)
        self.gpg("--quick-generate-key", "archive@example.com", "ed25519", "sign", "never")
        self.ring = folder / "ring.gpg"
        self.gpg("--output", str(self.ring), "--export")

    def gpg(self, *words):
        subprocess.run(["gpg", "--homedir", str(self.home), "--batch", "--quiet", "--yes", "--passphrase", "",
                        "--pinentry-mode", "loopback", *words], check=True, capture_output=True)


def make_package(folder, name, version):
    tree = folder / f"tree-{name}-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(f"Package: {name}\nVersion: {version}\nArchitecture: {ARCHITECTURE}\n"
                                         "Maintainer: a <a@example.com>\nDescription: made for a test\n")
    deb = folder / f"{name}_{version}_{ARCHITECTURE}.deb"
    subprocess.run(["dpkg-deb", "--build", str(tree), str(deb)], check=True, capture_output=True)
    return deb


def make_archive(root, suite, debs, key):
    """One suite of an archive; the index expired years ago, as a snapshot's has."""
    pool, lists = root / "pool", root / "dists" / suite / "main" / f"binary-{ARCHITECTURE}"
    pool.mkdir(parents=True, exist_ok=True)
    lists.mkdir(parents=True)
    index = ""
    for deb in debs:
        shutil.copy(deb, pool)
        control = subprocess.run(["dpkg-deb", "-f", str(deb)], capture_output=True, text=True, check=True).stdout.strip()
        content = deb.read_bytes()
        index += (f"{control}\nFilename: pool/{deb.name}\nSize: {len(content)}\n"
                  f"SHA256: {hashlib.sha256(content).hexdigest()}\n\n")
    (lists / "Packages").write_text(index)
    release = root / "dists" / suite / "Release"
    release.write_text(f"Origin: test\nSuite: {suite}\nCodename: {suite}\nArchitectures: {ARCHITECTURE}\nComponents: main\n"
                       "Date: Sat, 01 Jan 2022 00:00:00 UTC\nValid-Until: Sat, 08 Jan 2022 00:00:00 UTC\nSHA256:\n"
                       f" {hashlib.sha256(index.encode()).hexdigest()} {len(index)} main/binary-{ARCHITECTURE}/Packages\n")
    key.gpg("--output", str(release.with_name("InRelease")), "--clearsign", str(release))


class Fetch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("gpg"):
            raise unittest.SkipTest("needs gpg to sign an archive")
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        cls.key = Key(cls.folder)
        debs = {version: make_package(cls.folder, "toy", version) for version in ("1.0", "2.0", "3.0")}
        make_archive(cls.folder / "mirror", CODENAME, [debs["3.0"]], cls.key)
        served = cls.folder / "served"
        make_archive(served / "debian" / DATE, CODENAME, [debs["1.0"]], cls.key)
        make_archive(served / "debian" / DATE, f"{CODENAME}-updates", [], cls.key)
        make_archive(served / "debian-security" / DATE, f"{CODENAME}-security", [debs["2.0"]], cls.key)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(served)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.stack.callback(server.server_close)
        cls.stack.callback(server.shutdown)
        cls.url = f"http://127.0.0.1:{server.server_address[1]}"
        cls.apt = cls.configure_apt()

    @classmethod
    def configure_apt(cls):
        """An apt of this test's own, whose one source is the mirror."""
        state = cls.folder / "apt"
        for name in ("lists/partial", "cache/archives/partial"):
            (state / name).mkdir(parents=True)
        (state / "status").write_text("")
        (state / "sources.list").write_text(
            f"deb [signed-by={cls.key.ring} check-valid-until=no] file:{cls.folder}/mirror {CODENAME} main\n")
        configuration = state / "apt.conf"
        configuration.write_text(f'Dir::Etc::SourceList "{state}/sources.list";\nDir::Etc::SourceParts "/dev/null";\n'
                                 f'Dir::State::Lists "{state}/lists";\nDir::State::Status "{state}/status";\n'
                                 f'Dir::Cache "{state}/cache";\nAPT::Sandbox::User "root";\nAcquire::Languages "none";\n')
        environment = {"PATH": os.environ["PATH"], "APT_CONFIG": str(configuration), "no_proxy": "127.0.0.1", "LC_ALL": "C"}
        subprocess.run(["apt-get", "update", "-q", "-o", "APT::Update::Error-Mode=any"], env=environment, check=True,
                       capture_output=True)
        return environment

    def fetch(self, *words, **environment):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([str(TOOL), out, *words], capture_output=True, text=True, env={
                **self.apt, "DIVVY_SNAPSHOT_URL": self.url, "DIVVY_SNAPSHOT_KEYRING": str(self.key.ring), **environment})
            versions = sorted(path.name.split("_")[1] for path in pathlib.Path(out).glob("*.deb"))
            return done.returncode, versions, done.stderr

    def test_a_version_of_the_mirror_needs_no_snapshot(self):
        self.assertEqual(self.fetch("toy=3.0", DIVVY_SNAPSHOT_URL="http://127.0.0.1:1"), (0, ["3.0"], ""))

    def test_an_older_version_is_from_the_snapshot(self):
        for version in ("1.0", "2.0"):
            with self.subTest(version):
                status, versions, said = self.fetch(f"toy={version}")
                self.assertEqual((status, versions), (0, [version]), said)
                self.assertIn(f"toy={version} is from the snapshot of {DATE}", said)

    def test_a_version_of_neither_is_refused(self):
        status, versions, said = self.fetch("toy=9.0")
        self.assertEqual((status, versions), (1, []))
        self.assertIn(f"toy=9.0 is not in the configured archive, and the snapshot of {DATE} does not have it", said)
        self.assertIn("--newest-packages", said)

    def test_a_server_that_cannot_be_read_is_named(self):
        status, versions, said = self.fetch("toy=1.0", DIVVY_SNAPSHOT_URL="http://127.0.0.1:1")
        self.assertEqual((status, versions), (1, []))
        self.assertIn("http://127.0.0.1:1 cannot be read", said)

    def test_the_newest_one_is_taken_where_that_is_asked_for(self):
        for words, environment in ((["--newest-packages"], {}), ([], {"DIVVY_NEWEST_PACKAGES": "1"})):
            status, versions, said = self.fetch("toy=9.0", *words, **environment)
            self.assertEqual((status, versions), (0, ["3.0"]), said)
            self.assertIn("its newest version is taken", said)

    def test_another_archives_key_is_refused(self):
        with tempfile.TemporaryDirectory() as other:
            ring = Key(pathlib.Path(other)).ring
            status, versions, said = self.fetch("toy=1.0", DIVVY_SNAPSHOT_KEYRING=str(ring))
        self.assertEqual((status, versions), (1, []))
        self.assertIn("cannot be read", said)

    def test_an_unknown_word_is_refused(self):
        self.assertEqual(self.fetch("toy")[0], 2)


if __name__ == "__main__":
    unittest.main()
