#!/usr/bin/env python3
"""More memory promised than a budget on a real card has: every word is what it has to be."""
import os
import sys
import threading
import time

from card import GIB, MIB, CardTest, bytes_of, used, wait_until
from product import SUCCESS, main
from swapping import Swappers

BLOCK = 64 * MIB
# Of the card, for all tenants; the rest of it is never touched.
BUDGET = int(os.environ.get("DIVVY_CARD_BUDGET_GIB", "16")) * GIB


def part(fraction):
    """Of the budget, as --memory takes it."""
    return f"{round(BUDGET * fraction) >> 20}Mi"


def blocks(fraction):
    return round(BUDGET * fraction) // BLOCK


class Swap(Swappers, CardTest):
    def setUp(self):
        super().setUp()
        self.product.environment |= {"DIVVY_OVERCOMMIT": "2", "DIVVY_DEVICE_BUDGET": f"0={part(1)}",
                                     "DIVVY_SWAP_QUANTUM": "1s"}
        self.most, self.watching = 0, threading.Event()
        self.base = used()
        self.watch = threading.Thread(target=self.look, daemon=True)
        self.watch.start()

    def look(self):
        while not self.watching.wait(0.2):
            self.most = max(self.most, used() - self.base)

    def budget_held(self):
        self.watching.set()
        self.watch.join()
        print(f"most that the card had: {self.most >> 20} MiB", file=sys.stderr)
        self.assertLessEqual(self.most, BUDGET)
        self.assertGreater(self.most, BUDGET // 2)

    def filled(self, name, memory, blocks, *arguments):
        tenant = self.swapper(name, memory, *arguments)
        tenant.hands[0].tell("fill", blocks, BLOCK)
        return tenant

    def answered(self, *tenants):
        for tenant in tenants:
            self.assertEqual(tenant.hands[0].answer(), [SUCCESS], tenant.name)

    def rate(self, *tenants, seconds=4):
        """Rounds per second, of all together."""
        before, begun = sum(map(self.rounds, tenants)), time.monotonic()
        time.sleep(seconds)
        return (sum(map(self.rounds, tenants)) - before) / (time.monotonic() - begun)

    def test_two_tenants_that_do_not_fit_take_turns(self):
        one, two = (self.filled(name, part(0.7), blocks(0.58)) for name in ("one", "two"))
        self.answered(one, two)
        self.work(one)
        self.goes_on(one, 3)
        alone = self.rate(one)
        self.work(two)

        def turns():
            rows = {row["name"]: row for row in self.product.rows("ls")}
            return rows if min(rows[name]["swaps"] for name in ("one", "two")) >= 3 else None

        rows = wait_until(turns, "three turns each", 60)
        print({name: rows[name]["shares"] for name in rows}, file=sys.stderr)
        card = self.product.rows("gpus")[0]
        print(f"a swap: {card['swap_actual_ms']} ms, predicted {card['swap_predicted_ms']}; rounds of work: alone "
              f"{alone:.0f} per second, by turns {self.rate(one, two):.0f}", file=sys.stderr)
        self.end_correctly(one, two)
        self.budget_held()

    def test_who_needs_more_than_the_budget_uses_the_rest_at_the_host(self):
        tenant = self.filled("large", part(1.25), blocks(1.15))
        self.answered(tenant)
        row = self.row(tenant)
        print(row["host_map"], row["shares"], file=sys.stderr)
        self.work(tenant)
        self.goes_on(tenant, 3)
        self.end_correctly(tenant)
        self.budget_held()

    def test_a_checkpoint_takes_off_what_cannot_be_swapped(self):
        self.product.environment |= {"DIVVY_CHECKPOINT": "on", "DIVVY_HOST_MAP": "off"}
        low = self.swapper("low", part(0.75), "--priority", "low")
        before = used()
        while used() < before + BUDGET // 5:  # how much one takes, cards differ in
            self.assertEqual(low.hands[0].ask("arrays", 20), [SUCCESS])
        low.hands[0].tell("fill", blocks(0.4), BLOCK)
        self.answered(low)
        held = bytes_of(low.hands[0].pid)
        print(self.row(low), file=sys.stderr)
        high = self.filled("high", part(0.9), blocks(0.84), "--priority", "high", "--on-pressure", "wait",
                           "--pressure-wait", "2m")
        wait_until(lambda: self.row(low)["checkpoint"] == "away", "low is away", 60)
        print(f"low had {held}, has {bytes_of(low.hands[0].pid)}", file=sys.stderr)
        self.answered(high)
        self.work(high)
        self.goes_on(high, 3)
        self.end_correctly(high)
        wait_until(lambda: self.row(low)["checkpoint"] == "here", "low is back", 60)
        self.assertEqual(low.hands[0].ask("intact"), [SUCCESS, 0])
        self.work(low)
        self.goes_on(low, 3)
        self.end_correctly(low)
        self.budget_held()


if __name__ == "__main__":
    main()
