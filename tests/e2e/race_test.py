#!/usr/bin/env python3
"""A million racing allocations of 64 processes: not one byte over the limit, contexts included."""
import json
import os

from product import GIB, MIB, RACE, ProductTest, main

PROCESSES = 64
ATTEMPTS = int(os.environ.get("DIVVY_RACE_ATTEMPTS", "1000000"))
ROOM = 4 * GIB  # beside the contexts: 64 processes ask for up to 48 x 32 MiB each


class Race(ProductTest):
    def test_a_million_racing_allocations_stay_inside_the_limit(self):
        context = self.product.rows("gpus")[0]["context"] or 512 * MIB
        limit = PROCESSES * context + ROOM
        status, out, err = self.product.run(f"{limit >> 10}Ki", RACE, PROCESSES, ATTEMPTS, bound=280)
        self.assertEqual(status, 0, out + err)
        race = json.loads(out)
        card = self.product.card()
        print(f"limit {limit}, most on the card {card['peak']}, {race}", flush=True)
        self.assertEqual(race["granted"] + race["refused"], ATTEMPTS // PROCESSES * PROCESSES)
        self.assertGreater(race["refused"], ATTEMPTS // 100, "they hardly raced for room")
        self.assertEqual(race["left"], 0)
        self.assertEqual(max(0, card["peak"] - limit), 0, "bytes over the limit")
        # A process that is preempted between admission and driver holds up to 32 MiB that the card
        # never sees; on a busy machine several are at the fullest moment.
        self.assertGreater(card["peak"], limit - ROOM // 8, "the limit was never reached")
        self.assertEqual(card["used"], 0)


if __name__ == "__main__":
    main()
