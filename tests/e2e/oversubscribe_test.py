"""More memory promised than a card has: tenants take turns on it, and every word is what it has to
be. Judged by what they read back and by the card's own books."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from product import MIB, SUCCESS, main, wait_until
from swapping import SwapTest

TURNS = 4  # that each has to have had, out and in


class OversubscribeTest(SwapTest):
    """Turns, budgets and guarantees."""

    def test_two_tenants_of_65_percent_take_turns(self):
        one, two = self.filled("one"), self.filled("two")
        self.work(one, two)
        for row in self.took_turns(one, two, turns=TURNS).values():
            self.assertIn(row["memory"], ("resident", "waiting", "coming", "out"))
            share = row["shares"][0]
            self.assertEqual(share["resident"] + share["swapped"], share["used"])
            self.assertEqual(share["guarantee"], 0)
            self.assertEqual(row["unswapped"], "")
            self.assertEqual(row["refused"], 0)
        self.assertGreater(max(row["shares"][0]["swapped"] for row in self.product.rows("ls")), 0)
        device = self.product.rows("gpus")[0]
        self.assertEqual(device["overcommit_permille"], 1500)
        self.assertLessEqual(device["booked"], device["physical"])
        self.assertGreater(device["promised"], device["budget"])
        self.assertEqual(device["quantum_ms"], 300)
        for view, words in (("ls", ("RESIDENT", "SWAPPED")), ("gpus", ("OVERCOMMIT", "1.5x"))):
            text = self.product.divvy(view, *self.product.sim)[1]
            for word in words:
                self.assertIn(word, text)
        self.assert_card_held()
        self.end_correctly(one, two)

    def test_a_budget_is_never_exceeded(self):
        self.product.environment["DIVVY_DEVICE_BUDGET"] = "0=400Mi"
        one, two = self.filled("one", "290Mi", blocks=70), self.filled("two", "290Mi", blocks=70)
        self.work(one, two)
        self.took_turns(one, two, turns=TURNS)
        # 2 MiB of the card are left to its driver.
        self.assertEqual(self.product.rows("gpus")[0]["budget"], 398 * MIB)
        self.end_correctly(one, two)
        self.assertLessEqual(self.product.card()["peak"], 400 * MIB)

    def test_an_agent_that_is_killed_loses_nobody(self):
        kept = self.filled("kept", "15%", "--guaranteed", "15%", blocks=16)
        one, two = self.filled("one", "50%", blocks=60), self.filled("two", "50%", blocks=60)
        self.work(kept, one, two)
        for _ in range(2):
            before = self.product.agent_pid()
            os.kill(before, signal.SIGKILL)
            wait_until(lambda: self.product.agent_pid() != before, "another agent")
            self.goes_on(one), self.goes_on(two), self.goes_on(kept)
        rows = self.took_turns(one, two)
        self.assertEqual({row["state"] for row in rows.values()}, {"running"})
        device = self.product.rows("gpus")[0]
        self.assertGreaterEqual(device["guaranteed"], 15 * 510 * MIB // 100)
        self.assertEqual(rows["kept"]["memory"], "kept")
        self.end_correctly(kept, one, two)
        self.assert_card_held()

    def test_terms_survive_an_agent_that_was_told_them_by_options(self):
        """Its successor, which a command starts, is told nothing: it goes by what tenants have."""
        for name in ("DIVVY_OVERCOMMIT", "DIVVY_SWAP_CHUNK", "DIVVY_SWAP_QUANTUM"):
            del self.product.environment[name]
        agent = self.product.agent("--overcommit", "0=1.4", "--device-budget", "500Mi",
                                   "--swap-chunk", "2Mi")
        kept = self.filled("kept", "50%", "--guaranteed", "100Mi", "--on-pressure", "wait",
                           "--pressure-wait", "7s", blocks=20)
        agent.kill()
        agent.wait()
        wait_until(lambda: self.product.agent_pid() != agent.pid, "another agent")
        device, row = self.product.rows("gpus")[0], self.product.tenant_row("kept")
        self.assertEqual(device["overcommit_permille"], 1400)
        self.assertEqual(device["budget"], 498 * MIB)
        self.assertEqual(row["shares"][0]["guarantee"], 100 * MIB)
        self.assertEqual((row["on_pressure"], row["pressure_wait_ms"]), ("wait", 7000))
        wait_until(lambda: self.product.tenant_row("kept")["memory"] == "resident", "its figures")
        self.work(kept)
        self.goes_on(kept)
        self.end_correctly(kept)

    def test_who_is_beyond_the_hosts_reserve_is_refused_and_may_wait(self):
        self.product.environment["DIVVY_HOST_RESERVE"] = "160Mi"
        one, two = self.swapper("one"), self.swapper("two")
        status, _, err = self.product.run("90Mi", "true")
        self.assertEqual(status, 1)
        self.assertRegex(err, r"of host memory for swapping, (7|7\.0|6\.9) MiB left of the reserve")
        self.assertIn("--wait queues the request instead", err)
        status, _, err = self.product.run("150Mi", "true")
        self.assertEqual(status, 1)
        self.assertRegex(err, r"10[12](\.\d)? MiB may still be promised")
        waiting = self.product.start("run", *self.product.sim, "--memory", "150Mi", "--wait",
                                     "--", "true")
        wait_until(lambda: "queued" in self.product.divvy("ls", *self.product.sim)[1], "the queue")
        self.assertEqual(two.end(), 0)
        self.assertEqual(waiting.wait(30), 0)
        self.assertEqual(one.end(), 0)

    def test_who_is_guaranteed_all_is_never_swapped(self):
        kept = self.filled("kept", "25%", "--guaranteed", "25%", blocks=28)
        one, two = self.filled("one", "60%", blocks=72), self.filled("two", "60%", blocks=72)
        self.work(kept, one, two)
        rows = self.took_turns(one, two)
        self.assertEqual(rows["kept"]["memory"], "kept")
        self.assertEqual(rows["kept"]["shares"][0]["swapped"], 0)
        self.end_correctly(kept, one, two)
        self.assert_card_held()

    def test_who_comes_to_a_full_card_is_made_room_for(self):
        """A context is never swapped: others have to leave before there is one."""
        one, two = self.filled("one", "60%", blocks=72), self.filled("two", "60%", blocks=72)
        self.work(one, two)
        third = self.filled("third", "20%", blocks=20)
        self.work(third)
        self.took_turns(one, two)
        self.goes_on(third)
        self.end_correctly(one, two, third)
        self.assert_card_held()

    def test_guarantees_change_while_tenants_run(self):
        self.product.environment["DIVVY_HOST_MAP"] = "off"
        one, two = self.filled("one"), self.filled("two")
        status, _, err = self.product.divvy("resize", "one", "--guaranteed", "65%")
        self.assertEqual(status, 1)
        self.assertIn("keeps 331.5 MiB from being swapped", err)
        self.assertEqual(self.product.divvy("resize", "one", "--guaranteed", "30%")[0], 0)
        self.assertEqual(self.product.tenant_row("one")["shares"][0]["guarantee"], 30 * 510 * MIB // 100)
        status, _, err = self.product.divvy("resize", "two", "--memory", "80%")
        self.assertEqual(status, 1)
        self.assertIn("available beside memory of other tenants that is never swapped", err)
        self.work(one, two)
        self.took_turns(one, two)
        self.assertGreaterEqual(self.product.tenant_row("one")["shares"][0]["resident"], 30 * 510 * MIB // 100)
        self.end_correctly(one, two)
        self.assert_card_held()

    def test_the_budget_follows_what_is_foreign(self):
        one = self.filled("one", "50%", blocks=32)

        def becomes(mib):
            wait_until(lambda: mib - 1 < self.product.rows("gpus")[0]["budget"] / MIB <= mib,
                       f"a budget of {mib} MiB")

        becomes(510)  # some of the card is left to its driver
        with self.stranger() as stranger:
            self.assertEqual(stranger.ask("more", 100 * MIB), [SUCCESS])
            becomes(510 - 100 - 8)
            two = self.filled("two", "60%", blocks=72)
            self.work(one, two)
            self.took_turns(one, two)
            self.assert_card_held()
        becomes(510)
        self.goes_on(one), self.goes_on(two)
        self.end_correctly(one, two)


if __name__ == "__main__":
    main()
