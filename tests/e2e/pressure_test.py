"""`--on-pressure`: what an allocation within the share sees while the card itself is short."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from product import MIB, OUT_OF_MEMORY, SUCCESS, main, wait_until
from swapping import SwapTest


class PressureTest(SwapTest):
    """Somebody pins half of the card, another asks for more than that leaves: where that cannot be at
    the host instead."""

    def setUp(self):
        super().setUp()
        self.product.environment["DIVVY_HOST_MAP"] = "off"

    def pinner(self):
        """Admitted before: what is pinned already is promised to nobody."""
        tenant = self.swapper("pinner", "50%")
        self.assertEqual(tenant.hands[0].ask("pin", 230 * MIB), [SUCCESS])
        return tenant

    def short(self, *arguments):
        """A tenant with memory that fits, about to ask for 160 MiB that do not."""
        return self.filled("short", "65%", *arguments, blocks=32)

    def finish(self, *tenants):
        self.assert_card_held()
        self.work(*tenants)
        for tenant in tenants:
            self.goes_on(tenant)
        self.end_correctly(*tenants)

    def test_oom_is_out_of_memory_at_once(self):
        tenant = self.short("--on-pressure", "oom")
        self.pinner()
        self.assertEqual(tenant.hands[0].ask("more", 160 * MIB), [OUT_OF_MEMORY])
        row = self.product.tenant_row("short")
        self.assertEqual((row["refused_short"], row["pressure_waits"], row["pressed"]), (1, 0, 0))
        self.assertEqual(row["refused"], 0)  # that would be: over its limit
        # What fits is there all the same.
        self.assertEqual(tenant.hands[0].ask("more", 8 * MIB), [SUCCESS])
        self.finish(tenant)

    def test_wait_gets_it_when_room_appears(self):
        tenant = self.short("--on-pressure", "wait", "--pressure-wait", "10m")
        pinner = self.pinner()
        tenant.hands[0].tell("more", 160 * MIB)
        wait_until(lambda: self.product.tenant_row("short")["pressed"] == 1, "an allocation to wait")
        text = self.product.divvy("ls", *self.product.sim)[1]
        self.assertIn("an allocation waits: the device is short", text)
        text = self.product.divvy("top", *self.product.sim)[1]
        self.assertIn("an allocation waits for memory: device 0 has too little memory that can be swapped", text)
        self.assertEqual(pinner.end(), 0)
        self.assertEqual(tenant.hands[0].answer(), [SUCCESS])
        wait_until(lambda: self.product.tenant_row("short")["pressed"] == 0, "nobody to wait")
        self.assertEqual(self.product.tenant_row("short")["refused_short"], 0)
        self.finish(tenant)

    def test_wait_is_bounded(self):
        tenant = self.short("--on-pressure", "wait", "--pressure-wait", "2s")
        self.pinner()
        begin = time.monotonic()
        self.assertEqual(tenant.hands[0].ask("more", 160 * MIB), [OUT_OF_MEMORY])
        self.assertGreaterEqual(time.monotonic() - begin, 2)
        row = self.product.tenant_row("short")
        self.assertEqual((row["refused_short"], row["pressure_waits"], row["pressed"]), (1, 1, 0))
        self.finish(tenant)

    def test_a_changed_mind_counts_for_the_next_allocation(self):
        tenant = self.short()
        pinner = self.pinner()
        self.assertEqual(tenant.hands[0].ask("more", 160 * MIB), [OUT_OF_MEMORY])
        status, _, err = self.product.divvy("resize", "short", "--on-pressure", "wait",
                                            "--pressure-wait", "10m")
        self.assertEqual((status, err), (0, ""))
        tenant.hands[0].tell("more", 160 * MIB)
        wait_until(lambda: self.product.tenant_row("short")["pressed"] == 1, "an allocation to wait")
        self.assertEqual(pinner.end(), 0)
        self.assertEqual(tenant.hands[0].answer(), [SUCCESS])
        self.finish(tenant)

    def test_who_is_within_others_turns_is_neither_refused_nor_waits(self):
        """What others only use can be taken from them: that is no shortage of the card."""
        other = self.filled("other", "60%", blocks=72)
        self.work(other)
        tenant = self.short("--on-pressure", "oom")
        self.assertEqual(tenant.hands[0].ask("more", 160 * MIB), [SUCCESS])
        self.finish(tenant)
        self.end_correctly(other)

    def test_strangers_make_the_card_short_too(self):
        tenant = self.short("--on-pressure", "wait", "--pressure-wait", "10m")
        with self.stranger() as stranger:
            self.assertEqual(stranger.ask("more", 240 * MIB), [SUCCESS])
            wait_until(lambda: self.product.rows("gpus")[0]["budget"] < 270 * MIB, "a small budget")
            tenant.hands[0].tell("more", 160 * MIB)
            wait_until(lambda: self.product.tenant_row("short")["pressed"] == 1,
                       "an allocation to wait")
        self.assertEqual(tenant.hands[0].answer(), [SUCCESS])
        self.finish(tenant)


if __name__ == "__main__":
    main()
