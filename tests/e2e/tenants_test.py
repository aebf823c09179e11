#!/usr/bin/env python3
"""Several tenants, and several processes in one tenant, on one card."""
from product import GIB, MIB, OUT_OF_MEMORY, SUCCESS, ProductTest, main, wait_until


class Tenants(ProductTest):
    def test_each_tenant_sees_its_own_share_and_no_neighbour(self):
        small = self.tenant("small", "4Gi")
        large = self.tenant("large", "12Gi")
        for tenant, total in ((small, 4 * GIB), (large, 12 * GIB)):
            self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
            self.assertEqual(tenant.hands[0].ask("info")[2], total)
        free_before = small.hands[0].ask("info")[1]
        self.assertEqual(large.hands[0].ask("alloc", 8 * GIB)[0], SUCCESS)
        self.assertEqual(small.hands[0].ask("info")[1], free_before, "a neighbour moved our free")
        self.assertEqual(small.hands[0].ask("alloc", 8 * GIB)[0], OUT_OF_MEMORY)
        self.assertEqual(small.hands[0].ask("alloc", 1 * GIB)[0], SUCCESS)
        self.assertEqual(small.hands[0].ask("check", 0, 3 * MIB), [SUCCESS])
        self.assertEqual(small.end(), 0)
        self.assertEqual(large.end(), 0)

    def test_processes_of_a_tenant_share_its_limit(self):
        tenant = self.tenant("pair", "4Gi", count=2)
        first, second = tenant.hands
        self.assertEqual(first.ask("open"), [SUCCESS])
        self.assertEqual(second.ask("open"), [SUCCESS])
        self.assertEqual(first.ask("alloc", 2 * GIB)[0], SUCCESS)
        left = second.ask("info")[1]
        self.assertLess(left, 2 * GIB, "two contexts and 2 GiB are inside 4 GiB")
        self.assertEqual(second.ask("alloc", 2 * GIB)[0], OUT_OF_MEMORY)
        self.assertEqual(first.ask("free", 0), [SUCCESS])
        self.assertEqual(second.ask("alloc", 2 * GIB)[0], SUCCESS)
        self.assertEqual(tenant.end(), 0)

    def test_what_is_free_can_be_had_and_not_one_byte_more(self):
        tenant = self.tenant("exact", "4Gi")
        hand = tenant.hands[0]
        hand.ask("open")
        free = hand.ask("info")[1]
        self.assertEqual(hand.ask("alloc", free + 1)[0], OUT_OF_MEMORY)
        self.assertEqual(hand.ask("alloc", free)[0], SUCCESS)
        self.assertEqual(hand.ask("info")[1], 0)
        self.assertEqual(hand.ask("alloc", 1)[0], OUT_OF_MEMORY)
        self.assertEqual(tenant.end(), 0)

    def test_the_card_and_divvy_agree_on_every_byte(self):
        tenant = self.tenant("books", "8Gi", count=3)
        for number, hand in enumerate(tenant.hands, 1):
            hand.ask("open")
            hand.ask("alloc", number * 100 * MIB + 12345)
        pids = {hand.pid for hand in tenant.hands}
        card = self.product.card()
        on_card = sum(p["bytes"] for p in card["processes"] if p["pid"] in pids)
        share = self.product.tenant_row("books")["shares"][0]
        self.assertEqual(share["limit"], 8 * GIB)
        self.assertEqual(share["used"], on_card)
        self.assertEqual(8 * GIB - tenant.hands[0].ask("info")[1], on_card)
        self.assertEqual(tenant.end(), 0)

    def test_killed_process_gives_its_bytes_back(self):
        tenant = self.tenant("killed", "4Gi", count=2)
        victim, witness = tenant.hands
        witness.ask("open")
        free_alone = witness.ask("info")[1]
        victim.ask("open")
        victim.ask("alloc", 2 * GIB)
        self.assertLess(witness.ask("info")[1], free_alone - 2 * GIB)
        victim.kill()
        wait_until(lambda: witness.ask("info")[1] == free_alone, "the bytes come back")
        pids = [p["pid"] for p in self.product.card()["processes"]]
        self.assertNotIn(victim.pid, pids)
        tenant.end()

    def test_forked_child_that_ends_takes_nothing_along(self):
        tenant = self.tenant("forked", "4Gi")
        hand = tenant.hands[0]
        hand.ask("open")
        hand.ask("alloc", GIB)
        before = hand.ask("info")
        for _ in range(5):
            hand.ask("fork")
        self.assertEqual(hand.ask("info"), before)
        self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
        wait_until(lambda: self.product.tenant_row("forked")["processes"] == 1, "children are gone")
        self.assertEqual(tenant.end(), 0)

    def test_share_is_free_again_when_the_command_ends(self):
        for _ in range(3):
            tenant = self.tenant("again", "60Gi")  # two of these would not fit
            tenant.hands[0].ask("open")
            self.assertEqual(tenant.end(), 0)
        wait_until(lambda: self.product.rows("ls") == [], "no tenant is left")
        self.assertEqual(self.product.rows("gpus")[0]["allocated"], 0)

    def test_running_share_grows_at_once_and_shrinks_by_refusing(self):
        tenant = self.tenant("moving", "4Gi")
        hand = tenant.hands[0]
        hand.ask("open")
        self.assertEqual(hand.ask("alloc", 6 * GIB)[0], OUT_OF_MEMORY)
        status, _, err = self.product.divvy("resize", "moving", *self.product.sim, "--memory", "8Gi")
        self.assertEqual(status, 0, err)
        self.assertEqual(hand.ask("info")[2], 8 * GIB)
        self.assertEqual(hand.ask("alloc", 6 * GIB)[0], SUCCESS)
        status, _, err = self.product.divvy("resize", "moving", *self.product.sim, "--memory", "5Gi")
        self.assertEqual(status, 0, err)
        self.assertEqual(hand.ask("info")[1:], [0, 5 * GIB])
        self.assertEqual(hand.ask("alloc", 1)[0], OUT_OF_MEMORY)
        self.assertEqual(hand.ask("check", 0, MIB), [SUCCESS], "what it has keeps working")
        self.assertEqual(hand.ask("free", 0), [SUCCESS])
        self.assertEqual(hand.ask("alloc", 4 * GIB)[0], SUCCESS)
        self.assertEqual(tenant.end(), 0)

    def test_environment_lowers_the_share_and_never_raises_it(self):
        for limit, total in (("1Gi", GIB), ("64Gi", 4 * GIB)):
            status, out, err = self.product.run(
                "4Gi", "env", f"DIVVY_MEMORY_LIMIT={limit}", "sh", "-c",
                f"printf 'open\\ninfo\\n' | {self.hand()}")
            self.assertEqual(status, 0, err)
            self.assertEqual(int(out.splitlines()[1].split()[3]), total)

    @staticmethod
    def hand():
        from product import HAND
        return HAND


if __name__ == "__main__":
    main()
