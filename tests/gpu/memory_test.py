#!/usr/bin/env python3
"""Memory of a real card: what a share shows, where it ends, and that the driver sees no more."""
import shutil
import sys

from card import GIB, MIB, CardTest, bytes_of, used, wait_until
from product import OUT_OF_MEMORY, SUCCESS, main

BLOCK = 64 * MIB


class Memory(CardTest):
    def fill(self, hand):
        """Blocks until there are no more: how many."""
        count = 0
        while True:
            code = hand.ask("alloc", BLOCK)[0]
            if code != SUCCESS:
                self.assertEqual(code, OUT_OF_MEMORY)
                return count
            count += 1

    def test_a_share_ends_where_it_says_and_its_neighbour_notices_nothing(self):
        one, two = self.tenant("one", "4Gi"), self.tenant("two", "6Gi")
        for tenant in (one, two):
            self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        before = two.hands[0].ask("info")
        self.assertEqual(before[0], SUCCESS)
        self.assertEqual(before[2], 6 * GIB)
        blocks = self.fill(one.hands[0])
        code, free, total = one.hands[0].ask("info")
        self.assertEqual((code, total), (SUCCESS, 4 * GIB))
        self.assertLess(free, BLOCK)
        self.assertEqual(two.hands[0].ask("info"), before)
        self.assertEqual(one.hands[0].ask("check", 0, BLOCK), [SUCCESS])
        seen = bytes_of(one.hands[0].pid)
        row = self.row(one)["shares"][0]
        print(f"blocks {blocks * BLOCK >> 20} MiB, charged {row['used'] >> 20} MiB, the driver: "
              f"{None if seen is None else seen >> 20} MiB", file=sys.stderr)
        if seen is None:
            self.skipTest("this driver does not tell what a process has")
        self.assertLessEqual(seen, 4 * GIB)
        self.assertLess(row["used"] - seen, BLOCK)
        one.end(), two.end()

    def test_who_is_killed_gives_all_back(self):
        tenant = self.tenant("one", "4Gi")
        self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        self.fill(tenant.hands[0])
        held = used()
        tenant.hands[0].kill()
        wait_until(lambda: self.product.rows("ls") == [], "the share is free")
        wait_until(lambda: used() <= held - 3 * GIB, "the card is free")

    def test_processes_of_a_tenant_share_its_limit(self):
        tenant = self.tenant("four", "6Gi", 4)
        for hand in tenant.hands:
            self.assertEqual(hand.ask("open"), [SUCCESS])
        blocks = sum(self.fill(hand) for hand in tenant.hands)
        seen = [bytes_of(hand.pid) for hand in tenant.hands]
        print(f"{blocks} blocks, the driver: {seen}", file=sys.stderr)
        self.assertGreater(blocks, 16)
        if None not in seen:
            self.assertLessEqual(sum(seen), 6 * GIB)
        tenant.end()

    def test_nvidia_smi_in_a_share_shows_the_share(self):
        if shutil.which("nvidia-smi") is None:
            self.skipTest("there is no nvidia-smi here")
        status, out, err = self.product.run(
            "3Gi", "nvidia-smi", "--query-gpu=memory.total,memory.used",
            "--format=csv,noheader,nounits", bound=60)
        self.assertEqual(status, 0, out + err)
        total, used_there = (int(word) for word in out.split(","))
        self.assertEqual(total, 3 * 1024)
        self.assertLess(used_there, 3 * 1024)
        status, out, err = self.product.run("3Gi", "nvidia-smi", bound=60)
        self.assertEqual(status, 0, out + err)
        self.assertIn("3072MiB", out)
        print(out, file=sys.stderr)


if __name__ == "__main__":
    main()
