#!/usr/bin/env python3
"""The Debian package, installed by dpkg, used, installed once more and purged: installed_test.py PACKAGE

As root, in a mount namespace of its own with a layer over this machine's files: what dpkg changes goes with
it. Where layers cannot be had that is said, and nothing is checked."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGE = None
BOUND = 120  # seconds
# As root in that namespace: the layer is made, COMMAND is run in it, and all of it goes with the process.
INSIDE = """
set -e
mount -t tmpfs layers "$1"
mkdir "$1/upper" "$1/work" "$1/whole"
mount -t overlay layers -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/whole"
for folder in proc sys dev; do mount --rbind "/$folder" "$1/whole/$folder"; done
mount -t tmpfs run "$1/whole/run"
cp "$2" "$1/whole/divvy.deb"
exec chroot "$1/whole" /bin/bash -ec "$3"
"""


def inside(command):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-c", INSIDE, "inside", folder,
                               str(PACKAGE), command], capture_output=True, text=True, timeout=BOUND)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")
        probe = inside("true")
        if probe.returncode != 0:
            raise unittest.SkipTest(f"no layer over this machine's files: {probe.stderr.strip()}")

    def good(self, command):
        done = inside(command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_without_it_there_is_no_divvy(self):
        self.assertEqual(inside("command -v divvy").returncode, 1, "this machine has one: nothing would be shown")

    def test_what_it_needs_is_there_and_it_shares_a_card(self):
        said = self.good("""
            dpkg --install /divvy.deb >/dev/null
            dpkg --status divvy | grep '^Status: install ok installed'
            test ! -e /etc/ld.so.preload
            cd / && divvy version && kubectl-divvy version
            kubectl-divvy gpus --help | grep -- '--as-group GROUP'
            kubectl_complete-divvy cord | grep '^cordon'
            divvy run --sim h100 --memory 2Gi --cores 30 --name first -- divvy ls --sim h100 -o json
            divvy stop --force --sim h100 || divvy stop --force
        """)
        self.assertIn('"first"', said)
        self.assertIn(str(2 << 30), said)

    def test_its_parts_are_where_programs_look_for_them(self):
        self.good("""
            dpkg --install /divvy.deb >/dev/null
            bash -c 'source /usr/share/bash-completion/completions/divvy && complete -p divvy'
            test -s /usr/share/zsh/vendor-completions/_divvy -a -s /usr/share/fish/vendor_completions.d/divvy.fish
            grep -q '^ExecStart=/usr/bin/divvy agent ' /lib/systemd/system/divvy-agent.service
            test -x "$(readlink -f /usr/bin/divvy)"
            dpkg --verify divvy
        """)

    def test_nothing_is_left_when_it_is_purged(self):
        left = self.good("""
            there() { find /etc /lib /opt /usr /var/lib -not -path '/var/lib/dpkg/*' | sort; }
            there >/run/before
            dpkg --install /divvy.deb >/dev/null
            dpkg --install /divvy.deb >/dev/null
            there | comm -13 /run/before - >/run/installed
            dpkg --purge divvy >/dev/null
            there | comm -13 /run/before - >/run/left
            echo "$(wc -l </run/installed) $(wc -l </run/left)"; cat /run/left
        """)
        installed, still = left.splitlines()[0].split()
        self.assertGreater(int(installed), 20, "nothing was there to be left")
        self.assertEqual(int(still), 0, left)


if __name__ == "__main__":
    PACKAGE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
