#!/usr/bin/env python3
"""Classes of priority on one card: who makes room for whom, and what that costs."""
from compute import ComputeTest
from product import SUCCESS, main


class Classes(ComputeTest):
    def test_idle_high_work_leaves_the_card_and_takes_it_back(self):
        low = self.busy("low", "--priority", "low")
        high = self.busy("high", "--priority", "high")
        self.assert_part(high, 0.75, what="beside low work")
        self.rest(high)
        self.assert_part(low, 0.85, what="beside an idle service")
        self.work(high)
        self.assert_part(high, 0.75, what="when it is back")
        self.end(high)
        normal = self.busy("normal")
        self.assert_part(normal, 0.75, what="beside low work")
        self.end(normal)
        self.end(low)


class Estimates(ComputeTest):
    scale = 1

    def test_low_work_whose_kernels_became_shorter_fills_the_gaps(self):
        """On an H100 a kernel that had taken milliseconds was waited for as long for seconds after, each time."""
        service = self.idle("service", "--priority", "high")
        low = self.idle("low", "--priority", "low")
        for _ in range(3):  # what else runs on the machine disturbs some of them, never all
            for _ in range(5):
                self.assertEqual(low.hands[0].ask("once", 3000), [SUCCESS])
            self.assertEqual(low.hands[0].ask("run", 100), [SUCCESS])
            part = self.window(2).of(low)
            self.rest(low)
            if part > 0.45:
                break
        self.assertGreater(part, 0.45, "of the card, beside an idle service")
        self.assertEqual((service.end(), low.end()), (0, 0))


class LeastShare(ComputeTest):
    scale = 2  # what low work is promised counts over ten seconds of the card

    def test_low_work_gets_little_beside_busy_high_work_and_never_nothing(self):
        low = self.busy("low", "--priority", "low")
        high = self.busy("high", "--priority", "high")
        self.assert_part(low, 0.02, 0.12, "beside busy high work", seconds=6)
        self.assert_part(high, 0.75, what="beside low work")
        self.end(low)
        self.end(high)


class Latency(ComputeTest):
    scale = 0.1  # a request of 5 ms takes 50 ms, and what the machine itself is late stays small

    def requests(self, hand):
        """Median and 90th percentile of 25 requests, in milliseconds of the card. Each is more than
        a time slice."""
        code, median, p90, _ = hand.ask("serve", 25, 500, 20_000)
        self.assertEqual(code, 0)
        return median * self.scale / 1000, p90 * self.scale / 1000

    def test_requests_hardly_notice_low_work(self):
        service = self.idle("service", "--priority", "high")
        for turn in range(5):  # what else runs on the machine disturbs some of them, never all
            alone = self.requests(service.hands[0])
            trainer = self.busy(f"trainer{turn}", "--priority", "low", us=400)
            beside = self.requests(service.hands[0])
            self.end(trainer)
            if beside[0] < alone[0] + 1 and beside[1] < alone[1] + 1.5:
                break
        self.assertEqual(service.end(), 0)
        bare, rival = self.bare("service"), self.bare("trainer")
        self.assertEqual(rival.ask("run", 400), [SUCCESS])
        sliced = self.requests(bare)
        seen = f"alone {alone}, beside low work {beside}, without Divvy {sliced}"
        self.assertLess(beside[0], alone[0] + 1, seen)
        self.assertLess(beside[1], alone[1] + 1.5, seen)
        self.assertLess(beside[0], 0.75 * sliced[0], seen)


if __name__ == "__main__":
    main()
