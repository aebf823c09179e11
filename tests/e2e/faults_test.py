#!/usr/bin/env python3
"""Faults of the simulated driver reach the program as the driver reports them; nothing hangs, no
byte is lost, and neighbours do not notice."""
import contextlib
import time

from product import GIB, MIB, OUT_OF_MEMORY, SUCCESS, ProductTest, main, wait_until


class Faults(ProductTest):
    def faulty(self, faults, count=1):
        return self.tenant("faulty", "4Gi", count, environment=[f"SIMGPU_FAULTS={faults}"])

    def assert_all_given_back(self):
        wait_until(lambda: self.product.rows("ls") == [], "the share is free again")
        gpu = self.product.rows("gpus")[0]
        self.assertEqual((gpu["allocated"], gpu["tenants"]), (0, 0))

    def test_refused_by_the_driver_is_refunded(self):
        tenant = self.faulty("oom-after=2")
        hand = tenant.hands[0]
        self.assertEqual(hand.ask("open"), [SUCCESS])
        self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
        self.assertEqual(hand.ask("alloc", 512 * MIB)[0], SUCCESS)
        before = hand.ask("info")
        for _ in range(100):  # a leak of one reservation would use the share up
            self.assertEqual(hand.ask("alloc", 512 * MIB)[0], OUT_OF_MEMORY)
        self.assertEqual(hand.ask("info"), before)
        self.assertEqual(tenant.end(), 0)
        self.assert_all_given_back()

    def test_card_that_raises_an_xid_takes_only_its_own_process_along(self):
        tenant = self.faulty("xid=31")
        neighbour = self.tenant("neighbour", "4Gi")
        self.assertEqual(neighbour.hands[0].ask("open"), [SUCCESS])
        hand = tenant.hands[0]
        hand.ask("open")
        codes = [hand.ask("alloc", MIB)[0], hand.ask("sync")[0], hand.ask("alloc", MIB)[0]]
        self.assertNotEqual(codes[-1], SUCCESS, "the context lives on after an Xid")
        self.assertNotIn(OUT_OF_MEMORY, codes, "a fault is not a lack of memory")
        self.assertEqual(neighbour.hands[0].ask("alloc", GIB)[0], SUCCESS)
        tenant.end()
        self.assertEqual(neighbour.end(), 0)
        self.assert_all_given_back()

    def test_card_fallen_off_the_bus_is_an_error_and_not_a_wait(self):
        tenant = self.faulty("lost")
        code = tenant.hands[0].ask("open")[0]
        self.assertNotIn(code, (SUCCESS, OUT_OF_MEMORY))
        tenant.end()
        self.assert_all_given_back()

    def test_slow_driver_only_takes_its_time(self):
        tenant = self.faulty("slow=2000")
        hand = tenant.hands[0]
        self.assertEqual(hand.ask("open"), [SUCCESS])
        started = time.monotonic()
        self.assertEqual(hand.ask("churn", 20), [0])
        self.assertGreaterEqual(time.monotonic() - started, 0.080, "the fault was not in force")
        self.assertEqual(tenant.end(), 0)
        self.assert_all_given_back()

    def test_killed_inside_a_driver_call_loses_nothing(self):
        tenant = self.tenant("witness", "4Gi", count=2)
        witness = tenant.hands[0]
        witness.ask("open")
        free_alone = witness.ask("info")[1]
        victim = tenant.hands[1]
        victim.ask("open")
        tenant.end()
        for symbol in ("cuMemAlloc_v2", "cuMemFree_v2", "cuCtxCreate_v2"):
            doomed = self.faulty(f"kill-at={symbol}:1", count=2)
            survivor = doomed.hands[1]
            with contextlib.suppress(BrokenPipeError):  # it may be dead before it is told more
                doomed.hands[0].tell("open")
                doomed.hands[0].tell("churn", 10)
            if symbol != "cuCtxCreate_v2":
                survivor.ask("open")
                wait_until(lambda hand=survivor: hand.ask("info")[1] == free_alone,
                           f"bytes of the process killed in {symbol} come back")
            doomed.run.kill()
            for hand in doomed.hands:
                hand.close()
            self.assert_all_given_back()

    def test_old_driver_without_newer_entries_still_shares(self):
        tenant = self.tenant("old", "4Gi", environment=["SIMGPU_DRIVER_VERSION=11040"])
        hand = tenant.hands[0]
        self.assertEqual(hand.ask("open"), [SUCCESS])
        self.assertEqual(hand.ask("info")[2], 4 * GIB)
        self.assertEqual(hand.ask("alloc", 5 * GIB)[0], OUT_OF_MEMORY)
        self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
        self.assertEqual(hand.ask("check", 0, MIB), [SUCCESS])
        self.assertEqual(tenant.end(), 0)
        self.assert_all_given_back()


if __name__ == "__main__":
    main()
