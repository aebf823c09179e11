#!/usr/bin/env python3
"""What an agent finds in its folder that it did not leave there, or not so: nothing waits for ever,
nothing of others is taken away, no share is given away, and it is said."""
import os
import re
import signal
import subprocess

from product import BOUND, GIB, OUT_OF_MEMORY, SUCCESS, ProductTest, main, wait_until


class BadInput(ProductTest):
    def setUp(self):
        super().setUp()
        self.node = self.product.runtime / f"sim-{self.product.profile}"
        self.shares = self.node / "tenants"
        self.log = self.product.root / "agent.log"
        self.agent = None
        self.addCleanup(self.end_agent)

    def begin(self, *words):
        """An agent of the test's own; what it says is in self.log."""
        self.log.write_text("")
        with self.log.open("w") as log:
            self.agent = self.product.start("agent", "--node", f"sim-{self.product.profile}", *words,
                                            stdout=log, stderr=log)
        def answers():
            self.assertIsNone(self.agent.poll(), self.said())
            return self.product.divvy("ls", *self.product.sim, "-o", "json")[0] == 0
        # Nobody is asked before: a command that finds no agent starts one, which would be there first.
        wait_until(lambda: "agent is ready " in self.said() and answers(), "the agent answers")

    def end_agent(self, signum=signal.SIGKILL):
        if self.agent and self.agent.poll() is None:
            self.agent.send_signal(signum)
            self.agent.wait(BOUND)

    def said(self):
        return self.log.read_text(errors="replace")

    def says(self, *words):
        wait_until(lambda: all(word in self.said() for word in words),
                   f"the agent says {words}; it said:\n{self.said()}")

    def share(self, name="kept", memory="4Gi"):
        folder = self.product.root / "cdi"
        folder.mkdir(exist_ok=True)
        status, _, err = self.product.divvy("share", "create", name, *self.product.sim, "--memory",
                                            memory, "--cdi-dir", folder)
        self.assertEqual(status, 0, err)
        return self.folder_of(name)

    def folder_of(self, name):
        return self.shares / self.product.tenant_row(name)["id"]

    def works(self, tenant):
        self.assertEqual(tenant.hands[0].ask("alloc", GIB // 4)[0], SUCCESS)

    # In place of the agent's own records.

    def test_a_pipe_in_place_of_a_note_keeps_nobody_waiting(self):
        self.begin()
        tenant = self.tenant("steady", "4Gi")
        tenant.hands[0].ask("open")
        note = self.folder_of("steady") / "tenant.json"
        tenant.run.send_signal(signal.SIGSTOP)  # `divvy run` would bring up another agent
        self.end_agent()
        note.unlink()
        os.mkfifo(note)
        self.begin()
        tenant.run.send_signal(signal.SIGCONT)
        self.says("the record of a tenant is lost", "is not a regular file")
        self.assertEqual(self.product.tenant_row("steady")["processes"], 1)
        self.works(tenant)
        self.assertEqual(tenant.hands[0].ask("alloc", 4 * GIB)[0], OUT_OF_MEMORY)

    def test_pipes_in_place_of_what_was_found_keep_nobody_waiting(self):
        self.begin()
        self.end_agent()
        for name in ("context-costs", "timeslice-trial", "faults"):
            (self.node / name).unlink(missing_ok=True)
            os.mkfifo(self.node / name)
        self.begin()
        self.assertEqual(self.product.run("1Gi", "true")[0], 0)

    def test_a_kept_share_is_not_given_away_with_its_note(self):
        self.begin()
        folder = self.share("kept", "60Gi")
        self.end_agent()
        for broken in ("", "{", '{"version": 1, "id": 7}', "\0" * 4096):
            (folder / "tenant.json").write_text(broken)
            self.doctor_names(folder / "tenant.json")
            self.begin()
            self.says("the record of a tenant is lost", "divvy share rm kept")
            self.assertEqual(self.product.tenant_row("kept")["state"], "reserved")
            self.assertNotEqual(self.product.run("60Gi", "true")[0], 0, "its memory is promised")
            self.assertEqual((folder / "tenant.json.lost").read_text(), broken)
            self.end_agent()
        self.begin()
        status, _, err = self.product.divvy("share", "rm", "kept", *self.product.sim)
        self.assertEqual(status, 0, err)
        self.assertEqual(self.product.run("60Gi", "true")[0], 0)
        wait_until(lambda: not folder.exists(), "nothing is left of it")

    def test_a_share_whose_note_is_lost_ends_with_its_processes(self):
        self.begin()
        tenant = self.tenant("leaver", "4Gi")
        tenant.hands[0].ask("open")
        note = self.folder_of("leaver") / "tenant.json"
        tenant.run.send_signal(signal.SIGSTOP)  # `divvy run` would bring up another agent
        self.end_agent()
        note.write_text("half of it")
        self.begin()
        self.assertEqual(self.product.tenant_row("leaver")["processes"], 1)
        tenant.run.send_signal(signal.SIGCONT)
        self.assertEqual(tenant.end(), 0)
        wait_until(lambda: self.product.tenant_row("leaver") is None, "the share is free again")

    def test_pages_that_were_cut_short_are_named_and_kept_while_somebody_lives_there(self):
        self.begin()
        tenant = self.tenant("cut", "4Gi")
        folder = self.folder_of("cut")
        tenant.run.send_signal(signal.SIGSTOP)
        self.end_agent()
        os.truncate(folder / "report", 5000)
        self.doctor_names(folder / "report")
        self.begin()
        self.says("cannot recover a tenant", "truncated")
        self.assertEqual(self.product.tenant_row("cut")["state"], "broken")
        tenant.run.send_signal(signal.SIGCONT)
        tenant.end()
        wait_until(lambda: self.product.tenant_row("cut") is None, "it ends with its processes")

    def test_pages_of_another_version_are_named_and_left_to_their_owner(self):
        self.begin()
        tenant = self.tenant("later", "4Gi")
        folder = self.folder_of("later")
        tenant.run.send_signal(signal.SIGSTOP)
        self.end_agent()
        control = bytearray((folder / "control").read_bytes())
        control[8:12] = (999).to_bytes(4, "little")
        (folder / "control").write_bytes(control)
        self.begin()
        self.says("cannot recover a tenant")
        self.assertEqual(self.product.tenant_row("later")["state"], "broken")
        tenant.run.send_signal(signal.SIGCONT)
        tenant.end()

    def test_a_report_that_is_scribbled_on_is_named_and_bounded(self):
        self.begin()
        tenant = self.tenant("liar", "4Gi")
        tenant.hands[0].ask("open")
        folder = self.folder_of("liar")
        tenant.hands[0].stop()  # its library would mend what it finds
        self.doctor_is_silent_of("liar", check="agent-tenants")
        self.doctor_is_silent_of(folder, check="agent-state")
        with (folder / "report").open("r+b") as report:
            report.write(os.urandom(64 * 1024))
        row = self.product.tenant_row("liar")
        self.assertIn("report", row["note"])
        self.doctor_names(folder / "report", check="agent-state")
        self.doctor_names("(liar): report: ", check="agent-tenants")
        self.says("the report of a tenant is implausible", f"tenant={row['id']}", str(folder / "report"))
        tenant.hands[0].kill(signal.SIGCONT)
        total = sum(share["used"] for share in row["shares"])
        self.assertLessEqual(total, 80 * GIB)
        self.assertEqual(self.product.run("1Gi", "true")[0], 0, "others are served")

    def test_a_report_whose_beginning_is_whole_is_named_by_what_it_says(self):
        self.begin()
        tenant = self.tenant("liar", "4Gi")
        tenant.hands[0].ask("open")
        folder = self.folder_of("liar")
        tenant.hands[0].stop()
        with (folder / "report").open("r+b") as report:
            report.seek(4096)
            report.write(b"\xff" * 60 * 1024)
        self.doctor_is_silent_of(folder, check="agent-state")
        self.doctor_names("(liar): report: ", check="agent-tenants")
        self.says("the report of a tenant is implausible")
        self.assertEqual(self.said().count("is implausible"), 1, "once, and not each time that it is seen")
        tenant.hands[0].kill(signal.SIGCONT)

    # Of others.

    def foreign(self):
        """Things in its folders that are nobody's of Divvy's."""
        self.shares.mkdir(parents=True, exist_ok=True)
        (self.shares / "thesis.tex").write_text("two years of work")
        (self.shares / ".hidden").mkdir()
        (self.shares / ".hidden" / "data").write_text("x")
        (self.shares / "folder").mkdir()
        (self.shares / "folder" / "data").write_text("x")
        (self.shares / "link").symlink_to("/etc")
        os.mkfifo(self.shares / "pipe")
        (self.node / "notes.txt").write_text("x")
        return [self.shares / "thesis.tex", self.shares / ".hidden" / "data",
                self.shares / "folder" / "data", self.node / "notes.txt", self.shares / "pipe"]

    def test_what_is_not_ours_is_named_and_stays(self):
        self.begin()
        self.end_agent()
        foreign = self.foreign()
        self.doctor_names("thesis.tex", "notes.txt")
        self.begin()
        for name in ("thesis.tex", ".hidden", "folder", "link", "pipe"):
            self.says("is not a share of Divvy and is left alone", f"directory={self.shares / name}")
        self.assertEqual(self.product.rows("ls"), [])
        self.end_agent(signal.SIGTERM)
        self.says("a file that Divvy did not create", "notes.txt")
        for path in foreign:
            self.assertTrue(path.exists(), path)

    def test_what_somebody_puts_into_a_share_stays_after_it(self):
        self.begin()
        tenant = self.tenant("guest", "2Gi")
        folder = self.folder_of("guest")
        (folder / "results.csv").write_text("x")
        tenant.end()
        self.says("a file that Divvy did not create", "results.csv")
        self.assertEqual([path.name for path in folder.iterdir()], ["results.csv"])
        self.end_agent()
        self.begin()
        self.says("is not a share of Divvy and is left alone")
        self.assertEqual((folder / "results.csv").read_text(), "x")

    def test_halves_of_shares_are_taken_away(self):
        self.begin()
        self.end_agent()
        self.shares.mkdir(exist_ok=True)
        (self.shares / ".new-abcdef").mkdir()
        (self.shares / ".new-abcdef" / "control").write_text("half")
        self.begin()
        self.assertFalse((self.shares / ".new-abcdef").exists())

    # Where it is to be.

    def test_the_folder_of_a_share_that_was_taken_away_but_for_it_is_in_nobodys_way(self):
        self.begin()
        self.end_agent()
        (self.shares / "pod-98b20ca276b22170").mkdir(parents=True)
        self.begin()
        self.assertEqual(list(self.shares.iterdir()), [])

    def test_a_file_in_place_of_the_socket_is_named_or_replaced(self):
        self.node.mkdir(parents=True, mode=0o700)
        os.chmod(self.product.runtime, 0o700)
        (self.node / "agent.sock").write_text("left behind")
        self.begin()
        self.assertEqual(self.product.run("1Gi", "true")[0], 0)

    def refuses(self, *words):
        """It does not start, within its time, and says why."""
        with self.log.open("w") as log:
            agent = self.product.start("agent", "--node", f"sim-{self.product.profile}", stdout=log,
                                       stderr=log)
        self.assertNotEqual(agent.wait(BOUND), 0)
        for word in words:
            self.assertIn(word, self.said())

    def test_folders_that_others_may_write_are_refused(self):
        self.product.runtime.mkdir(mode=0o777)
        os.chmod(self.product.runtime, 0o777)
        self.doctor_names(self.product.runtime)
        self.refuses(str(self.product.runtime), "others")

    def test_a_link_in_place_of_its_folder_is_refused(self):
        self.product.runtime.mkdir(mode=0o700)
        (self.product.root / "elsewhere").mkdir()
        self.node.symlink_to(self.product.root / "elsewhere")
        self.doctor_names(self.node)
        self.refuses(str(self.node))

    def test_a_file_in_place_of_its_folder_is_refused(self):
        self.product.runtime.write_text("")
        self.doctor_names(self.product.runtime)
        self.refuses(str(self.product.runtime))

    def test_settings_that_are_half_written_are_refused_by_name_and_line(self):
        settings = self.product.root / "nodes.yaml"
        for text in ("nodes: [", "nodes:\n  - name: x\n    per_devise: 3\n", "\0\1\2"):
            settings.write_text(text)
            with self.log.open("w") as log:
                agent = self.product.start("agent", "--node", f"sim-{self.product.profile}",
                                           "--node-settings", settings, "--node-name", "n",
                                           stdout=log, stderr=log)
            self.assertNotEqual(agent.wait(BOUND), 0, text)
            self.assertIn(str(settings), self.said())
            # By an option, for nobody runs who would say where they are; with the line that the agent names.
            place = re.search(re.escape(str(settings)) + r":(\d+:)*", self.said())[0]
            self.doctor_names(place, check="node-settings", arguments=("--node-settings", settings))
        settings.write_text("settings:\n- nodes: ['*']\n  cores: 80\n")
        self.doctor_is_silent_of(settings, check="node-settings", arguments=("--node-settings", settings))
        self.begin("--node-settings", settings)
        self.doctor_is_silent_of(settings, check="node-settings")
        settings.write_text("settings:\n- nodes: ['*']\n  cores: 800\n")
        self.doctor_names(f"{settings}:3:10: ", "accepted: ", check="node-settings")

    @staticmethod
    def mounted(folder, size):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "divvy-test",
                               str(folder)], capture_output=True, check=False).returncode == 0

    def test_a_full_disk_refuses_the_share_and_nobody_elses(self):
        self.product.runtime.mkdir(mode=0o700)
        if os.geteuid() != 0 or not self.mounted(self.product.runtime, "128m"):
            self.skipTest("mounting a small file system needs root")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.product.runtime)], check=False)
        self.begin()
        tenant = self.tenant("first", "4Gi")
        tenant.hands[0].ask("open")
        self.doctor_is_silent_of(self.product.runtime, check="agent-space")
        ballast = self.product.runtime / "ballast"
        with ballast.open("wb") as file:
            try:
                while True:
                    file.write(b"x" * 65536)
                    file.flush()
            except OSError:
                pass
        status, _, err = self.product.run("1Gi", "true")
        self.assertNotEqual(status, 0)
        self.assertIn("No space left", err)
        self.says("cannot create a share", "No space left")
        self.doctor_names(self.product.runtime, check="agent-space")
        self.works(tenant)
        self.assertEqual(len(self.product.rows("ls")), 1, "half a share is none")
        ballast.unlink()
        self.doctor_is_silent_of(self.product.runtime, check="agent-space")
        self.assertEqual(self.product.run("1Gi", "true")[0], 0)
        self.assertEqual(tenant.end(), 0)


if __name__ == "__main__":
    main()
