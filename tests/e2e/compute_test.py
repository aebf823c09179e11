#!/usr/bin/env python3
"""Who gets how much of a card that several want: shares, caps, idle neighbours, changes."""
from compute import ComputeTest
from product import main, wait_until


class Exactly(ComputeTest):
    scale = 0.2

    def test_two_and_three_tenants_get_what_they_asked_for(self):
        ten = self.busy("ten", "--cores", 10)
        self.assert_part(ten, 0.97, what="alone")
        twenty = self.busy("twenty", "--cores", 20)
        seventy = self.busy("seventy", "--cores", 70, us=400)
        self.assert_shares({ten: 0.1, twenty: 0.2, seventy: 0.7}, seconds=3, total=0.95)
        self.end(ten)
        self.end(twenty)
        thirty = self.busy("thirty", "--cores", 30, us=2000)
        self.assert_shares({thirty: 0.3, seventy: 0.7}, seconds=3, total=0.95)
        self.end(thirty)
        self.end(seventy)


class Shares(ComputeTest):
    def test_without_cores_all_get_equal_parts_of_what_is_left(self):
        asks = self.busy("asks", "--cores", 60)
        others = [self.busy(f"other{i}") for i in range(2)]
        self.assert_shares({asks: 0.6, others[0]: 0.2, others[1]: 0.2})

    def test_weights_over_a_hundred_are_parts_of_the_sum_and_said_so(self):
        first = self.busy("first", "--cores", 75)
        second = self.busy("second", "--cores", 75)
        self.assert_shares({first: 0.5, second: 0.5})
        self.assertEqual(self.divvy("resize", "second", "--cores", 25), "", "nothing to be said")
        note = self.divvy("resize", "second", "--cores", 50)
        self.assertIn("125", note)
        self.assertEqual(note.count("\n"), 1, note)
        self.assert_shares({first: 0.6, second: 0.4})
        self.end(first)
        self.end(second)
        self.assertEqual(first.run.communicate()[1], "")
        self.assertIn("150", second.run.communicate()[1])

    def test_processes_of_a_tenant_are_one_share(self):
        crowd = self.busy("crowd", "--cores", 50, count=3)
        single = self.busy("single", "--cores", 50)
        window = self.assert_shares({crowd: 0.5, single: 0.5})
        for hand in crowd.hands:
            self.assertGreater(window.got(hand), 0.03, "each of its processes has some")
        self.end(crowd)
        self.end(single)


class Caps(ComputeTest):
    def test_cap_holds_alone_and_a_share_takes_all(self):
        tenant = self.busy("held", "--cores", 20, "--cores-policy", "cap")
        self.assert_part(tenant, 0.17, 0.23, "under a cap of 20", seconds=2)
        self.divvy("resize", "held", "--cores-policy", "share")
        self.assert_part(tenant, 0.95, what="with a share, alone")
        self.end(tenant)

    def test_cap_holds_beside_others_who_get_the_rest(self):
        held = self.busy("held", "--cores", 20, "--cores-policy", "cap")
        free = self.busy("free", "--cores", 30)
        self.assert_shares({held: 0.2, free: 0.8})
        self.end(held)
        self.end(free)


class Idle(ComputeTest):
    def who_starves(self, *tenants):
        """At once, not after somebody has been paid for the time in which he did not want to."""
        window = self.window(1.5)
        return [tenant.name for tenant in tenants if window.of(tenant) <= 0.15 * window.total]

    def assert_nobody_starves(self, greedy, other):
        """Of whom the other has just come back. What else runs on the machine disturbs some of that, never all."""
        for _ in range(3):
            starved = self.who_starves(greedy, other)
            if not starved:
                return
            self.rest(other)
            self.assert_part(greedy, 0.95, what="beside an idle neighbour", seconds=2)
            self.work(other)
        self.fail(f"{starved} starve")

    def test_idle_neighbour_leaves_its_time_and_gets_it_back(self):
        greedy = self.busy("greedy", "--cores", 40)
        owner = self.busy("owner", "--cores", 60)
        self.rest(owner)
        self.assert_part(greedy, 0.95, what="beside an idle neighbour", seconds=2)
        self.work(owner)
        self.assert_nobody_starves(greedy, owner)
        self.assert_shares({greedy: 0.4, owner: 0.6})
        self.end(owner)
        self.assert_part(greedy, 0.95, what="after its neighbour", seconds=2)
        newcomer = self.busy("newcomer", "--cores", 60)
        self.assert_nobody_starves(greedy, newcomer)
        self.end(greedy)
        self.end(newcomer)


class Changes(ComputeTest):
    def test_cores_policy_and_priority_change_while_it_runs(self):
        first = self.busy("first", "--cores", 20)
        second = self.busy("second", "--cores", 80)
        self.divvy("resize", "first", "--cores", 60)
        self.divvy("resize", "second", "--cores", 40)
        self.assert_shares({first: 0.6, second: 0.4})
        self.divvy("resize", "second", "--cores-policy", "cap", "--cores", 15)
        self.assert_shares({first: 0.85, second: 0.15})
        self.divvy("resize", "second", "--cores-policy", "share", "--cores", 60, "--priority", "low")
        self.assert_part(first, 0.8, what="beside low work", seconds=2)
        self.assertEqual(self.product.tenant_row("second")["priority"], "low")
        self.end(first)
        self.end(second)

    def test_change_of_a_tenant_that_ended_is_an_error(self):
        tenant = self.idle("brief", "--cores", 20)
        self.assertEqual(tenant.end(), 0)
        wait_until(lambda: self.product.tenant_row("brief") is None, "it has ended")
        for change in (("--cores", 30), ("--priority", "low"), ("--cores-policy", "cap")):
            status, out, err = self.product.divvy("resize", "brief", *change, *self.product.sim)
            self.assertEqual((status, out), (1, ""))
            self.assertIn("brief", err)
            self.assertIn("is running; divvy ls lists", err)

    def test_cores_that_cannot_be_are_refused_and_nothing_changes(self):
        tenant = self.idle("plain", "--cores", 20)
        for wrong in ("0", "-5", "101", "many"):
            status, _, err = self.product.divvy("resize", "plain", f"--cores={wrong}", *self.product.sim)
            self.assertNotEqual(status, 0, wrong)
            self.assertIn(wrong.lstrip("-"), err)
            status, _, err = self.product.run("1Gi", "true", arguments=(f"--cores={wrong}",))
            self.assertEqual(status, 2, f"{wrong}: {err}")
        self.assertEqual(self.product.tenant_row("plain")["shares"][0]["cores"], 20)
        self.assertEqual(tenant.end(), 0)


class TwoCards(ComputeTest):
    profile = "h100x2"

    def test_tenant_of_two_cards_gets_its_part_of_both(self):
        wide = self.busy("wide", "--gpus", 2, "--cores", 60, devices=2)
        other = self.busy("other", "--gpus", 2, "--cores", 140, devices=2)
        for index in range(2):
            self.assert_shares({wide: 0.3, other: 0.7}, index=index)
        self.end(wide)
        self.end(other)


if __name__ == "__main__":
    main()
