#!/usr/bin/env python3
"""Tenants that report something else than what they do must not cost honest ones their share."""
from compute import ComputeTest
from product import SUCCESS, main, wait_until

LINE, BUSY_FROM, BUSY_SIZE = 256, 128, 128  # of a line of the work page


class Liars(ComputeTest):
    def assert_honest_keeps_its_half(self, *lie):
        honest = self.busy("honest", "--cores", 50)
        liar = self.idle("liar", "--cores", 50)
        self.assertEqual(liar.hands[0].ask("lie", *lie), [SUCCESS])
        liar.hands[0].tell("run", 1000)
        self.assert_part(honest, 0.42, what=f"beside one that writes {lie}", seconds=2)
        self.assert_part(honest, 0.42, what="later", seconds=2)
        liar.hands[0].kill()
        self.assert_part(honest, 0.9, what="when the liar is gone")
        self.end(honest)

    def test_no_time_reported(self):
        self.assert_honest_keeps_its_half(BUSY_FROM, BUSY_SIZE, 0)

    def test_nothing_reported(self):
        self.assert_honest_keeps_its_half(0, LINE, 0)

    def test_everything_at_once_reported(self):
        self.assert_honest_keeps_its_half(0, LINE, 0xff)


class Bypass(ComputeTest):
    scale = 1

    def test_program_without_our_library_is_named(self):
        honest = self.busy("honest", "--cores", 80)
        self.idle("bypass", "--cores", 20, environment=("-u", "LD_PRELOAD")).hands[0].ask("run", 1000)
        wait_until(lambda: [row["name"] for row in self.product.rows("ls") if row["distrusted"]] == ["bypass"],
                   "divvy ls says that it, and nobody else, uses more than it reports")
        self.assertIn("distrusted", self.product.divvy("ls", *self.product.sim)[1])
        self.assert_part(honest, 0.4, what="beside it, by the card's own turns")
        self.end(honest)


if __name__ == "__main__":
    main()
