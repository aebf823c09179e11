"""Tenants that are idle give their memory back, and are ended on request; what happened is told."""
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from product import MIB, SUCCESS, line_of, main, wait_until
from swapping import SwapTest


class IdleTest(SwapTest):
    def row(self, tenant):
        return self.product.tenant_row(tenant.name)

    def told(self, **policy):
        """Before the agent starts."""
        self.product.environment |= {f"DIVVY_IDLE_{name.upper()}": value
                                     for name, value in policy.items()}

    def hook(self, script):
        path = self.product.root / "hook"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o700)
        return str(path)

    def happened(self, kind, name):
        found = wait_until(lambda: [event for event in self.events(name) if event["kind"] == kind],
                           f"{kind} of {name}")
        self.assertEqual(found[-1]["name"], name)
        return found[-1]["reason"]

    def notice(self, tenant):
        return (self.product.runtime / "sim-swap" / "tenants" / self.row(tenant)["id"]
                / "notice.json")

    def worked(self, tenant):
        """Has had its memory in use, and rests now."""
        self.work(tenant)
        self.goes_on(tenant)
        self.assertEqual(tenant.hands[0].ask("rest")[0], SUCCESS)

    def may_be_idle_for(self, tenant, long):
        """From when it has worked: it might be idle for as long before that."""
        self.assertEqual(self.product.divvy("resize", tenant.name, "--idle-stop", long)[0], 0)

    def is_out(self, tenant):
        row = self.row(tenant)
        return row["memory_reason"] == "unused" and row["shares"][0]["swapped"] > 0 and row

    # --- memory ---

    def test_who_is_idle_gives_its_memory_back_by_class(self):
        self.told(reclaim="high=off,normal=1h,low=1s")
        low = self.filled("low", "30%", "--priority", "low", blocks=32)
        normal = self.filled("normal", "20%", blocks=20)
        mine = self.filled("mine", "20%", "--idle-reclaim", "2s", "--guaranteed", "5%", blocks=20)
        for tenant in (low, normal, mine):
            self.worked(tenant)
        row = wait_until(lambda: self.is_out(low), "low to give its memory back", 60)
        self.assertEqual(row["idle_reclaim_s"], 1)
        wait_until(lambda: self.row(low)["shares"][0]["swapped"] == 128 * MIB, "all of it", 60)
        wait_until(lambda: self.is_out(mine), "that with terms of its own", 60)
        self.assertGreaterEqual(self.row(mine)["shares"][0]["resident"], 5 * 510 * MIB // 100)
        self.assertEqual(self.row(normal)["shares"][0]["swapped"], 0)
        text = self.product.divvy("ls", *self.product.sim)[1]
        self.assertEqual(text.count("released its memory"), 2, text)
        self.assertIn("128 MiB swapped out; swapped in at its next work",
                      self.happened("reclaimed", "low"))
        # The next work brings it back, every word of it.
        self.work(low, mine)
        for tenant in (low, mine):
            self.goes_on(tenant, 2)
        self.assertIn("back after", self.happened("swapped-in", "low"))
        wait_until(lambda: self.row(low)["idle_s"] == 0, "it is seen to work")
        self.assert_card_held()
        self.work(normal)
        self.goes_on(normal)
        self.end_correctly(low, normal, mine)

    def test_terms_change_and_survive_an_agent(self):
        self.told(reclaim="off")
        one = self.filled("one", "30%", blocks=32)
        self.worked(one)
        rested = time.monotonic()
        self.assertEqual(self.product.divvy("resize", "one", "--idle-reclaim", "1h")[0], 0)
        self.assertEqual(self.row(one)["idle_reclaim_s"], 3600)
        before = self.product.agent_pid()
        wait_until(lambda: self.row(one)["idle_s"] >= 3, "it to be idle for 3 s")
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.product.agent_pid() != before, "another agent")
        row = self.row(one)
        self.assertEqual(row["idle_reclaim_s"], 3600)
        # By what its page says: who counts anew is 3 s behind for ever.
        wait_until(lambda: self.row(one)["idle_s"] >= time.monotonic() - rested - 2, "it to be idle as long")
        self.assertEqual(self.product.divvy("resize", "one", "--idle-reclaim", "1s")[0], 0)
        wait_until(lambda: self.is_out(one), "it to give its memory back", 60)
        self.work(one)
        self.goes_on(one)
        self.end_correctly(one)

    # --- ends ---

    def test_who_is_idle_is_noticed_saved_and_ended(self):
        witness = self.product.root / "witness"
        self.told(notice="3s", grace="60s", hook=self.hook(
            f'cp "$DIVVY_STOP_NOTICE" {witness}.notice\n'
            f'echo "$DIVVY_STOP_NAME $DIVVY_STOP_REASON ${{DIVVY_TENANT_DIR-none}}" > {witness}\n'
            'echo saved it; exit 0\n'))
        kept = self.filled("kept", "20%", blocks=20)
        box = self.filled("box", "30%", "--guaranteed", "10%", blocks=20)
        identity = self.row(box)["id"]
        self.worked(box)
        self.may_be_idle_for(box, "1s")
        self.assertNotEqual(box.run.wait(60), 0)
        self.assertEqual(witness.read_text(), "box idle none\n")
        notice = json.loads(pathlib.Path(f"{witness}.notice").read_text())
        self.assertEqual((notice["tenant"], notice["name"], notice["reason"]),
                         (identity, "box", "idle"))
        self.assertEqual((notice["notice_s"], notice["grace_s"]), (3, 60))
        self.assertGreaterEqual(notice["idle_s"], 1)
        wait_until(lambda: self.row(box) is None, "its end")
        kinds = [event["kind"] for event in self.events("box")]
        order = [kind for kind in kinds if kind in ("notice", "hook", "stopped", "killed")]
        self.assertEqual(order, ["notice", "hook", "stopped"])
        self.assertEqual([event["device"] for event in self.events("box")], [0] * len(kinds))
        self.assertEqual({event["tenant"] for event in self.events("box")}, {identity})
        self.assertEqual(self.row(kept)["stop"], "")
        self.work(kept)
        self.goes_on(kept)
        self.end_correctly(kept)

    def test_work_calls_it_off(self):
        self.told(stop="normal=1s", notice="10m", hook=self.hook("sleep 1000\n"))
        box = self.filled("box", "30%", blocks=20)
        self.worked(box)
        wait_until(lambda: self.row(box)["stop"] == "noticed", "the notice")
        self.assertTrue(self.notice(box).exists())
        self.assertIn("unless it resumes work", self.product.divvy("ls", *self.product.sim)[1])
        self.assertIn("SIGTERM in 10m unless box works", self.happened("notice", "box"))
        self.work(box)
        self.assertEqual(self.happened("called-off", "box"), "it resumed work")
        wait_until(lambda: self.row(box)["stop"] == "" and not self.notice(box).exists(), "it is over")
        self.assertIn("killed", self.happened("hook", "box"))
        self.goes_on(box)
        self.end_correctly(box)

    def test_a_hook_that_fails_keeps_it_alive(self):
        self.told(notice="5s", hook=self.hook("echo no space left >&2; exit 3\n"))
        box = self.filled("box", "30%", blocks=20)
        self.worked(box)
        self.may_be_idle_for(box, "2s")
        self.assertIn("ended: exit status 3", self.happened("hook", "box"))
        self.assertIn("the hook failed; tried again after 2s", self.happened("called-off", "box"))
        wait_until(lambda: len([event for event in self.events("box")
                                if event["kind"] == "notice"]) >= 2, "another try")
        self.assertNotIn("stopped", [event["kind"] for event in self.events("box")])
        log = (self.product.runtime / "sim-swap" / "agent.log").read_text()
        self.assertIn('output="no space left', log)
        self.work(box)
        self.goes_on(box)
        self.end_correctly(box)

    def test_a_hook_has_until_the_deadline(self):
        self.told(stop="1h", notice="2s", hook=self.hook("exec sleep 1000\n"))
        box = self.filled("box", "30%", blocks=20)
        self.worked(box)
        self.may_be_idle_for(box, "1s")
        self.assertIn("killed at the deadline", self.happened("hook", "box"))
        self.assertIn("the hook failed", self.happened("called-off", "box"))
        self.assertEqual(self.product.divvy("resize", "box", "--idle-stop", "off")[0], 0)
        self.work(box)
        self.goes_on(box)
        self.end_correctly(box)

    def test_who_ignores_sigterm_is_killed_after_the_grace(self):
        self.told(notice="1s", grace="2s")
        box = self.filled("box", "30%", blocks=20)
        box.hands[0].ask("deaf")
        self.worked(box)
        self.may_be_idle_for(box, "1s")
        self.assertIn("still running 2s after SIGTERM", self.happened("killed", "box"))
        self.assertNotEqual(box.run.wait(60), 0)

    def test_another_agent_begins_anew(self):
        self.told(stop="1s", notice="10m")
        box = self.filled("box", "30%", blocks=20)
        self.worked(box)
        wait_until(lambda: self.row(box)["stop"] == "noticed", "the notice")
        first = json.loads(self.notice(box).read_text())
        before = self.product.agent_pid()
        wait_until(lambda: self.row(box)["stop_left_s"] <= 597, "3 s of it to pass")
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.product.agent_pid() != before, "another agent")
        wait_until(lambda: self.row(box)["stop"] == "noticed", "another notice")
        self.assertGreater(json.loads(self.notice(box).read_text())["deadline"], first["deadline"])
        self.work(box)
        self.happened("called-off", "box")
        self.goes_on(box)
        self.end_correctly(box)

    # --- what is told ---

    def test_events_follow(self):
        self.told(reclaim="1s")
        box = self.filled("box", "30%", blocks=20)
        follower = self.product.start("events", "--follow", "-o", "json", *self.product.sim)
        self.worked(box)
        for kind in ("given", "reclaimed"):
            told = json.loads(line_of(follower, f"that it was {kind}"))
            self.assertEqual((told["kind"], told["name"], told["node"]), (kind, "box", "sim-swap"))
        before = self.product.agent_pid()
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.product.agent_pid() != before, "another agent")
        # It has no past: who is back before it looked for the first time has nothing to be told of.
        wait_until(lambda: self.events("box"), "the other agent to see that its memory is away")
        self.work(box)
        told = json.loads(line_of(follower, "what another agent saw"))
        self.assertEqual((told["name"], told["node"]), ("box", "sim-swap"))
        follower.kill()
        status, out, err = self.product.divvy("events", "nobody", *self.product.sim, "-o", "json")
        self.assertEqual((status, json.loads(out)), (0, []))
        self.assertIn("no events of \"nobody\"", err)
        text = self.product.divvy("events", *self.product.sim)[1]
        self.assertRegex(text, r"TIME +TENANT +DEVICE +KIND +REASON\n")
        self.end_correctly(box)

    def test_refusals_and_waits_are_told(self):
        self.product.environment["DIVVY_HOST_MAP"] = "off"
        box = self.filled("box", "65%", "--on-pressure", "wait", "--pressure-wait", "1s", blocks=32)
        self.assertEqual(box.hands[0].ask("more", 400 * MIB)[0], 2)
        self.assertIn("1 request of 400 MiB beyond its limit of 331.5 MiB", self.happened("refused", "box"))
        pinner = self.swapper("pinner", "50%")
        self.assertEqual(pinner.hands[0].ask("pin", 230 * MIB), [SUCCESS])
        self.assertEqual(box.hands[0].ask("more", 160 * MIB)[0], 2)
        self.assertIn("waited up to 1s: the device is short", self.happened("waited", "box"))
        self.assertIn("1 request of 160 MiB within its limit of", self.happened("device-full", "box"))
        self.work(box)
        self.goes_on(box)
        self.end_correctly(box)


if __name__ == "__main__":
    main(at_once=3)
