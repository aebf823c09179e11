"""Tenants that need more than the card can ever give them use the rest at the host."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from product import MIB, OUT_OF_MEMORY, SUCCESS, main, wait_until
from swapping import BLOCK, SwapTest

LARGE = "640Mi"  # of a card on which tenants may have 510
BLOCKS = 140


class HostMapTest(SwapTest):
    def row(self, name):
        return self.product.tenant_row(name)

    def runs_with_host(self, tenant):
        self.work(tenant)
        self.goes_on(tenant, 2)
        row = wait_until(lambda: self.row(tenant.name) if self.row(tenant.name)["host_map"] == "in-use"
                         else None, "memory at the host", 60)
        self.assertEqual(row["memory_reason"], "short")
        share = row["shares"][0]
        self.assertLessEqual(share["resident"], 510 * MIB)
        self.assertGreaterEqual(share["swapped"], BLOCKS * BLOCK - 510 * MIB)
        return row

    def test_one_that_is_larger_than_the_card_works_alone(self):
        large = self.filled("large", LARGE, blocks=BLOCKS)
        row = self.runs_with_host(large)
        self.assertEqual(row["memory"], "resident", "it has all that it can be given")
        self.assertIn("used in host memory", self.product.divvy("ls", *self.product.sim)[1])
        self.assertIn("of it is used in host memory, slowly",
                      self.product.divvy("top", *self.product.sim)[1])
        self.end_correctly(large)
        self.assert_card_held()

    def test_it_takes_turns_with_one_that_fits(self):
        large = self.filled("large", LARGE, blocks=BLOCKS)
        small = self.filled("small", "20%", blocks=20)
        self.work(large, small)
        self.took_turns(large, small)
        self.goes_on(large)
        self.goes_on(small)
        self.assertEqual(self.row("small")["host_map"], "can", "who fits has all of it there")
        self.end_correctly(large, small)
        self.assert_card_held()

    def test_what_is_at_the_host_comes_back_when_there_is_room(self):
        holder = self.swapper("holder", "50%")
        self.assertEqual(holder.hands[0].ask("pin", 200 * MIB), [SUCCESS])
        large = self.filled("large", "80%", blocks=90)
        self.work(large)
        self.goes_on(large, 2)
        wait_until(lambda: self.row("large")["host_map"] == "in-use", "memory at the host", 60)
        self.assertEqual(holder.end(), 0)
        wait_until(lambda: self.row("large")["shares"][0]["swapped"] == 0, "all of it back", 60)
        self.goes_on(large, 2)
        wait_until(lambda: (self.row("large")["host_map"], self.row("large")["memory_reason"])
                   == ("can", "fits"), "it is like all others")
        self.end_correctly(large)
        self.assert_card_held()

    def test_where_the_driver_cannot_it_is_out_of_memory_and_said_why(self):
        large = self.swapper_with("large", "SIMGPU_FAULTS=no-host-map")
        self.assertEqual(large.hands[0].ask("fill", BLOCKS, BLOCK), [OUT_OF_MEMORY])
        self.assertEqual(self.row("large")["host_map"], "cannot")
        self.assertGreaterEqual(self.row("large")["refused_short"], 1)
        self.refused("520Mi", "the device has 512 MiB")
        self.work(large)
        self.goes_on(large)
        self.end_correctly(large)

    def test_where_it_is_not_wanted_or_never_could_it_is_refused_as_ever(self):
        self.product.environment["DIVVY_HOST_MAP"] = "off"
        self.refused(LARGE, "the device has 512 MiB")

    def test_a_driver_that_is_too_old_is_not_believed_to(self):
        self.product.environment["SIMGPU_DRIVER_VERSION"] = "12080"
        self.refused(LARGE, "the device has 512 MiB")

    def swapper_with(self, name, variable):
        tenant = self.tenant_with(name, LARGE, variable)
        self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        return tenant

    def refused(self, memory, why):
        status, _, err = self.product.divvy("run", *self.product.sim, "--memory", memory, "true")
        self.assertNotEqual(status, 0)
        self.assertIn(why, err)


main()
