"""Memory yielded by priority: who is lower is paused and swapped out while somebody higher needs the
card's memory, and comes back by itself."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from product import MIB, SUCCESS, main, wait_until
from swapping import BLOCK, SwapTest

AT_WORK = 3  # rounds in which somebody shows that he goes on


class YieldTest(SwapTest):
    """Two of low priority fill the card, one of high priority needs most of it."""

    overcommit = "2"

    def lower(self):
        """Together 448 of 510 MiB."""
        lower = [self.filled(name, "45%", "--priority", "low", blocks=54) for name in ("one", "two")]
        self.work(*lower)
        for tenant in lower:
            self.goes_on(tenant)
        return lower

    def row(self, tenant):
        return self.product.tenant_row(tenant.name)

    def is_out(self, tenant, lent_to):
        row = self.row(tenant)
        return row["memory"] == "waiting" and row["memory_reason"] == "higher-class" \
            and row["lent_to"] == lent_to and row["shares"][0]["swapped"] > 0

    def paused(self, tenant, other):
        """It makes no progress while the other does."""
        before = self.rounds(tenant)
        self.goes_on(other, AT_WORK)
        return self.rounds(tenant) == before

    def assert_never_swapped(self, tenant):
        row = self.row(tenant)
        self.assertEqual((row["memory"], row["swaps"]), ("resident", 0))
        self.assertEqual(row["shares"][0]["swapped"], 0)

    @staticmethod
    def is_back(row):
        return row["memory"] == "resident" and row["lent_to"] == ""

    def come_back(self, *tenants):
        for tenant in tenants:
            # Both of one answer: between two it may leave once more.
            wait_until(lambda: self.is_back(self.row(tenant)), f"{tenant.name} is back", 60)
            self.goes_on(tenant)

    def test_who_is_higher_starts_on_a_full_card(self):
        one, two = self.lower()
        high = self.filled("high", "80%", "--priority", "high", blocks=95)
        self.work(high)
        self.goes_on(high)
        name = self.row(high)["id"]
        for tenant in (one, two):
            wait_until(lambda: self.is_out(tenant, name), f"{tenant.name} is out", 60)
            self.assertTrue(self.paused(tenant, high), tenant.name)
        text = self.product.divvy("ls", *self.product.sim)[1]
        self.assertEqual(text.count("paused: memory lent to high"), 2, text)
        text = self.product.divvy("top", *self.product.sim)[1]
        self.assertIn("paused: its memory on device 0 is lent to high, whose priority is high", text)
        self.goes_on(high, AT_WORK)
        self.assert_never_swapped(high)
        self.end_correctly(high)
        self.come_back(one, two)
        for tenant in (one, two):
            self.assertEqual(self.row(tenant)["refused"] + self.row(tenant)["refused_short"], 0)
        self.assert_card_held()
        self.end_correctly(one, two)

    def test_who_is_higher_allocates_on_a_full_card(self):
        high = self.filled("high", "80%", "--priority", "high", blocks=4)
        self.work(high)
        one, two = self.lower()
        self.assertEqual(self.row(one)["swaps"] + self.row(two)["swaps"], 0)
        high.hands[0].ask("rest")
        self.assertEqual(high.hands[0].ask("fill", 90, BLOCK), [SUCCESS])
        self.work(high)
        self.goes_on(high)
        for tenant in (one, two):
            wait_until(lambda: self.is_out(tenant, self.row(high)["id"]), f"{tenant.name} is out", 60)
        self.assert_never_swapped(high)
        # It keeps its memory; only what it does not use for a while is there for others.
        high.hands[0].ask("rest")
        self.come_back(one, two)
        self.work(high)
        self.goes_on(high, AT_WORK)
        wait_until(lambda: self.row(one)["memory"] == self.row(two)["memory"] == "waiting",
                   "both are out again", 60)
        self.assert_card_held()
        self.end_correctly(high)
        self.end_correctly(one, two)

    def test_only_what_is_needed_leaves_and_guarantees_stay(self):
        kept = self.filled("kept", "45%", "--priority", "low", "--guaranteed", "20%", blocks=54)
        self.work(kept)
        high = self.filled("high", "70%", "--priority", "high", blocks=80)
        self.work(high)
        wait_until(lambda: self.is_out(kept, self.row(high)["id"]), "the lower one is out", 60)
        self.goes_on(high, AT_WORK)
        share = self.row(kept)["shares"][0]
        self.assertGreaterEqual(share["resident"], 20 * 510 * MIB // 100)
        # 510 MiB are enough for 328 and 182 of 224.
        self.assertLessEqual(share["swapped"], 64 * MIB)
        self.assert_never_swapped(high)
        self.end_correctly(high)
        self.come_back(kept)
        self.end_correctly(kept)
        self.assert_card_held()

    def test_normal_stands_between(self):
        """Low yields to normal, both to high; the first to come back is the higher one."""
        low = self.filled("low", "60%", "--priority", "low", blocks=70)
        self.work(low)
        normal = self.filled("normal", "60%", blocks=70)
        self.work(normal)
        wait_until(lambda: self.is_out(low, self.row(normal)["id"]), "low yields to normal", 60)
        high = self.filled("high", "75%", "--priority", "high", blocks=90)
        self.work(high)
        wait_until(lambda: self.is_out(normal, self.row(high)["id"]), "normal yields to high", 60)
        self.end_correctly(high)
        self.come_back(normal)
        self.assertTrue(self.is_out(low, self.row(normal)["id"]))
        self.end_correctly(normal)
        self.come_back(low)
        self.end_correctly(low)
        self.assert_card_held()

    def test_an_agent_that_is_killed_meanwhile_loses_nobody(self):
        one, two = self.lower()
        high = self.filled("high", "80%", "--priority", "high", blocks=95)
        self.work(high)
        self.goes_on(high)
        before = self.product.agent_pid()
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.product.agent_pid() != before, "another agent")
        self.goes_on(high, AT_WORK)
        wait_until(lambda: all(self.row(tenant)["memory"] == "waiting" for tenant in (one, two)),
                   "both still wait", 60)
        self.end_correctly(high)
        self.come_back(one, two)
        self.end_correctly(one, two)
        self.assert_card_held()


if __name__ == "__main__":
    main()
