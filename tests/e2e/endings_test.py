#!/usr/bin/env python3
"""Threads, contexts and processes that end with work on the card, beside a neighbour who waits."""
from compute import ComputeTest
from product import SUCCESS, main, wait_until

SOON = 25.0  # seconds, on a busy machine; the work that is left takes a tenth of one


class Endings(ComputeTest):
    def setUp(self):
        super().setUp()
        self.neighbour = self.busy("neighbour")

    def assert_neighbour_has_all(self):
        self.assert_part(self.neighbour, 0.9, what="when all others have ended", seconds=0.5)
        self.end(self.neighbour)

    def test_threads_contexts_and_children_end_with_work_in_flight(self):
        tenant = self.idle("mortal")
        for what in ("thread", "destroy", "fork"):
            for _ in range(3):
                self.assertEqual(tenant.hands[0].ask(what, 50_000), [SUCCESS], what)
                self.assert_goes_on(self.neighbour, f"beside the end of a {what}", bound=SOON)
            self.assertEqual(tenant.hands[0].ask("once", 100), [SUCCESS], f"it works after {what}")
        self.assertEqual(tenant.end(), 0)
        self.assert_neighbour_has_all()

    def test_process_that_exits_with_work_in_flight_keeps_its_status(self):
        for status in (7, 0, 42):
            tenant = self.idle("leaver")
            tenant.hands[0].tell("run", 1000)
            tenant.hands[0].tell("leave", status, 100_000)
            self.assertEqual(tenant.run.wait(SOON), status)
            self.assert_goes_on(self.neighbour, "beside a process that left", 0.2, bound=SOON)
        self.assert_neighbour_has_all()

    def test_child_that_outlives_its_parent_does_not_hold_the_card(self):
        tenant = self.busy("parent")
        child = tenant.hands[0].ask("keep")[0]
        tenant.hands[0].kill()
        self.assert_goes_on(self.neighbour, "beside an orphan", 0.2, bound=SOON)
        self.assert_part(self.neighbour, 0.9, what="beside an orphan", seconds=0.5)
        self.assertIsNotNone(self.product.tenant_row("parent"), f"child {child} still lives in it")
        tenant.hands[0].close()
        wait_until(lambda: self.product.tenant_row("parent") is None, "the tenant ends with it")
        self.end(self.neighbour)


if __name__ == "__main__":
    main()
