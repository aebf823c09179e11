#!/usr/bin/env python3
"""The Debian package, installed by dpkg, used, installed once more and purged: installed_test.py PACKAGE

As root, in a mount namespace of its own with a layer over this machine's files: what dpkg changes goes with
it. Where layers cannot be had that is said, and nothing is checked."""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

PACKAGE = None
BOUND = 120  # seconds
UNIT = "/lib/systemd/system/divvy-agent.service"
# How much of the machine a program under the unit could touch, of 100: systemd's own marks, less is better. One line of
# those that shut it in less, and it is more.
MOST_EXPOSED = 25
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
            grep '^libseccomp-dev .*: LGPL-2.1-only$' /usr/share/doc/divvy/third-party-licences
            # It becomes another program, which says so.
            DIVVY_RUNTIME_DIR=/none/here divvy agent-helper 2>&1 | grep '^divvy: creating /none/here: '
            dpkg --verify divvy
        """)

    def test_a_helper_that_is_missing_would_be_told(self):
        """The control."""
        self.good("""
            dpkg --install /divvy.deb >/dev/null
            rm /usr/lib/divvy/bin/divvy-agent-helper
            DIVVY_RUNTIME_DIR=/none/here divvy agent-helper 2>&1 | grep 'divvy-agent-helper cannot be run: No such file'
        """)

    def unit(self, change=""):
        """What systemd thinks of the installed unit, or of one that `change` (of sed) was made of: the statuses of
        `systemd-analyze verify` and of `security`, and what they said. No systemd has to run, and none starts it."""
        said = self.good(f"""
            dpkg --install /divvy.deb >/dev/null
            mkdir -p /run/spoiled && sed {shlex.quote(change)} {UNIT} >/run/spoiled/divvy-agent.service
            {'cmp -s' if change else '! cmp -s'} {UNIT} /run/spoiled/divvy-agent.service && exit 9
            {{ systemd-analyze verify --man=no --recursive-errors=no /run/spoiled/divvy-agent.service && verified=0 || verified=$?
            SYSTEMD_COLORS=0 systemd-analyze security --no-pager --offline=yes --threshold={MOST_EXPOSED} \\
              /run/spoiled/divvy-agent.service && exposed=0 || exposed=$?; }} 2>&1
            echo "$verified $exposed"
        """)
        return [int(word) for word in said.splitlines()[-1].split()], said

    def test_systemd_understands_its_unit(self):
        statuses, said = self.unit()
        self.assertEqual(statuses, [0, 0], said)

    def test_a_unit_with_a_wrong_line_would_be_told(self):
        """The control: systemd itself leaves out what it does not understand, and starts the rest."""
        for change, told in (("s/^ProtectHome=/ProtectHme=/", "Unknown key 'ProtectHme'"),
                             ("s/^ProtectSystem=strict/ProtectSystem=stict/", "protect system value"),
                             ("s/^SystemCallFilter=.*/SystemCallFilter=@system-servce/", "Unknown system call group"),
                             ("s/^RestartSec=.*/RestartSec=two/", "Failed to parse sec value"),
                             ("s|^ExecStart=/usr/bin/divvy|ExecStart=/usr/bin/divy|", "/usr/bin/divy is not executable"),
                             ("s/^.Service.$/[Servce]/", "Unknown section 'Servce'")):
            with self.subTest(change):
                (verified, _), said = self.unit(change)
                self.assertNotEqual(verified, 0, said)
                self.assertIn(told, said)

    def test_a_unit_that_shuts_its_program_in_less_would_be_told(self):
        """The control of the marks, each good by itself."""
        for name in ("ProtectHome", "NoNewPrivileges", "CapabilityBoundingSet", "ProtectSystem", "SystemCallFilter",
                     "RestrictNamespaces"):
            with self.subTest(name):
                (verified, exposed), said = self.unit(f"/^{name}=/d")
                self.assertEqual(verified, 0, said)
                self.assertNotEqual(exposed, 0, said)

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
