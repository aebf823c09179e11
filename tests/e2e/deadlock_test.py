#!/usr/bin/env python3
"""Kernels that wait for each other, and captures that may not be disturbed: time must not be shared
so that anybody waits for ever."""
from compute import ComputeTest
from product import SUCCESS, main, wait_until

SOON = 20.0  # seconds; each wait that Divvy breaks takes at most one of the card


def raise_flags(path, count=1):
    with open(path, "r+b") as flags:
        flags.write(b"\1\0\0\0" * count)


class AcrossTenants(ComputeTest):
    profile = "h100x2"
    scale = 1

    def test_jobs_on_the_same_two_cards_wait_for_each_other_and_both_finish(self):
        first, path = self.entangled("first", "--gpus", 2, devices=2)
        second, _ = self.entangled("second", "--gpus", 2, devices=2, path=path)
        hands = first.hands[0], second.hands[0]
        for turn in range(3):
            flags = 2 * turn, 2 * turn + 1
            for hand, mine, other in ((hands[0], *flags), (hands[1], *reversed(flags))):
                hand.tell("raise", mine)
                hand.tell("until", other)  # on both cards
                hand.tell("sync")
        begin = self.card_now()
        for hand in hands:
            self.assertEqual([hand.answer() for _ in range(9)], [[SUCCESS]] * 9)
        self.assertLess((self.card_now() - begin) / 1e9, SOON)
        self.assertEqual((first.end(), second.end()), (0, 0))

    def test_kernel_without_end_is_named_and_holds_up_nobody_on_either_card(self):
        other = self.busy("other", "--gpus", 2, devices=2)
        spinner, path = self.entangled("spinner", "--gpus", 2, devices=2)
        self.assertEqual(spinner.hands[0].ask("until", 0), [SUCCESS])
        # Who was held up himself for a while may be taken for one, too, and not for long.
        wait_until(lambda: [row["name"] for row in self.product.rows("ls") if row["unpreemptible"]] == ["spinner"],
                   "divvy ls says that it, and nobody else, cannot be preempted")
        for index in range(2):
            self.assert_goes_on(other, "beside a kernel without end", 0.2, index=index)
        self.assertIn("unpreemptible", self.product.divvy("ls", *self.product.sim)[1])
        raise_flags(path)
        self.assertEqual(spinner.hands[0].ask("sync"), [SUCCESS])
        wait_until(lambda: not self.product.tenant_row("spinner")["unpreemptible"],
                   "it is like all others again")
        self.assertEqual(spinner.end(), 0)
        self.end(other)


class WithinATenant(ComputeTest):
    scale = 1

    def test_kernel_that_waits_for_another_thread_of_its_process(self):
        neighbour = self.busy("neighbour")
        tenant, _ = self.entangled("entangled")
        for flag in range(3):
            self.assertEqual(tenant.hands[0].ask("entangle", flag, 1000), [SUCCESS])
        self.assert_goes_on(neighbour, "beside it")
        self.assertEqual(tenant.end(), 0)
        self.end(neighbour)

    def test_kernel_of_one_process_waits_for_another_process_of_the_tenant(self):
        neighbour = self.busy("neighbour")
        pair, _ = self.entangled("pair", count=2)
        waits, raises = pair.hands
        for flag in range(3):
            self.assertEqual(waits.ask("until", flag), [SUCCESS])
            self.assertEqual(raises.ask("once", 30_000), [SUCCESS], "its turn ends meanwhile")
            self.assertEqual(raises.ask("raise", flag), [SUCCESS])
            self.assertEqual(waits.ask("sync"), [SUCCESS])
        self.assert_goes_on(neighbour, "beside it")
        self.assertEqual(pair.end(), 0)
        self.end(neighbour)


class Captures(ComputeTest):
    def test_captures_are_not_disturbed_and_graphs_are_shared(self):
        """One thread captures in global mode, as PyTorch does, while others launch, copy and
        allocate; another tenant wants the card all the time."""
        neighbour = self.busy("neighbour", "--cores", 40)
        tenant = self.idle("torch", "--cores", 60)
        hand = tenant.hands[0]
        code, others = hand.ask("capture", 20, 500)
        self.assertEqual(code, SUCCESS, "a capture was invalidated")
        self.assertGreater(others, 20, "the other threads worked too")
        self.assertEqual(hand.ask("replay"), [SUCCESS])
        self.assert_shares({neighbour: 0.4, tenant: 0.6})
        self.end(tenant)
        self.end(neighbour)


if __name__ == "__main__":
    main()
