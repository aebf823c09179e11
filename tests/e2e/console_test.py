#!/usr/bin/env python3
"""`divvy console --local` beside a real agent: its figures, changes, dead agents, its own death."""
import json
import os
import re
import signal
import time
import urllib.error
import urllib.parse
import urllib.request

from product import BOUND, GIB, MIB, SUCCESS, ProductTest, line_of, main, wait_until

LINK = re.compile(r"(http://127\.0\.0\.1:\d+/)#token=([0-9a-f]{32})")
WRITTEN = 200  # seconds until the minute's points are in the file


class Console:
    """A `divvy console` process and one session of it."""

    def __init__(self, product, *words):
        self.begun = int(time.time() * 1000)
        self.process = product.start("console", "--local", *product.sim, "--listen", "127.0.0.1:0",
                                     "--interval", "250ms", *words)
        self.url, token = self.link()
        self.serves = int(time.time() * 1000)
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                  urllib.request.HTTPCookieProcessor())
        self.csrf = ""
        self.csrf = self.call("session", {"token": token})["csrf"]
        self.used = token

    def link(self):
        """The address and the token of the next link that it prints."""
        while True:
            found = LINK.search(line_of(self.process, "the console prints a link"))
            if found:
                return found.groups()

    def call(self, path, body=None, status=200, method=None):
        headers = {"X-Divvy-CSRF": self.csrf} if body is not None or method else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}api/v1/{path}", data, headers, method=method)
        try:
            with self.opener.open(request, timeout=BOUND) as reply:
                got, text = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            got, text = error.code, error.read()
        if got != status:
            raise AssertionError(f"{path}: {got} {text!r}")
        return json.loads(text) if text else None

    def rows(self, kind, query=""):
        return self.call(kind + query)["items"]

    def share(self, name):
        return next((row for row in self.rows("shares") if row["name"] == name), None)

    def source(self):
        sources = self.call("overview")["sources"]
        return sources[0] if sources else None

    def series(self, of, what, begin=None):
        """The values that are known since `begin`, or since the console serves, oldest first."""
        begin = self.serves if begin is None else begin
        query = urllib.parse.urlencode({"of": of, "what": what, "from": begin,
                                        "to": max(int(time.time() * 1000), begin + 1)})
        return [value for value in self.call(f"series?{query}")["series"][0]["max"]
                if value is not None]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(BOUND)


class ConsoleTest(ProductTest):
    def setUp(self):
        super().setUp()
        self.history = self.product.root / "history.sqlite"

    def console(self, *words):
        return Console(self.product, "--history", self.history, *words)

    def near(self, one, other, what):
        self.assertLessEqual(abs(one - other), 0.01 * max(abs(one), abs(other)), what)

    def working_tenant(self, name, limit, used):
        tenant = self.tenant(name, limit)
        self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        self.assertEqual(tenant.hands[0].ask("alloc", used)[0], SUCCESS)
        return tenant


class Figures(ConsoleTest):
    def test_figures_are_those_of_the_command_line(self):
        self.product.agent()
        tenants = [self.working_tenant("train", "4Gi", GIB), self.working_tenant("serve", "8Gi", 3 * GIB)]
        console = self.console()
        wait_until(lambda: len(console.rows("shares")) == 2, "the console has both shares")
        listed = {row["name"]: row for row in self.product.rows("ls")}
        wait_until(lambda: all((console.share(name) or {}).get("used_bytes") ==
                               sum(share["used"] for share in row["shares"])
                               for name, row in listed.items()), "both agree on the memory used")
        for name, row in listed.items():
            share = console.share(name)
            self.assertEqual(share["id"], f"{share['node']}/{row['id']}")
            self.assertEqual((share["pid"], share["state"], share["priority"]),
                             (row["pid"], row["state"], row["priority"]))
            self.near(share["limit_bytes"], sum(one["limit"] for one in row["shares"]), name)
            self.near(share["used_bytes"], sum(one["used"] for one in row["shares"]), name)
            self.assertEqual(console.call("shares/" + share["id"])["item"]["name"], name)
        devices = {row["uuid"]: row for row in self.product.rows("gpus")}
        self.assertEqual({row["id"] for row in console.rows("devices")}, set(devices))
        for row in console.rows("devices"):
            of_agent = devices[row["id"]]
            self.near(row["memory_total_bytes"], of_agent["physical"], "total")
            self.near(row["memory_limits_bytes"], of_agent["promised"], "limits")
            self.near(row["memory_used_bytes"], of_agent["used"], "used")
            self.assertEqual(row["tenants"], of_agent["tenants"])
        overview = console.call("overview")
        memory = overview["funnel"]["memory"]
        self.assertEqual(overview["funnel"]["devices"], len(devices))
        self.assertEqual(overview["shares"]["running"], 2)
        self.near(memory["total_bytes"], sum(row["physical"] for row in devices.values()), "total")
        self.near(memory["allocated_bytes"], 12 * GIB, "allocated")
        kinds = {event["kind"] for event in console.rows("events", "?filter=name:train")}
        self.assertIn("given", kinds)
        device = next(row["id"] for row in console.rows("devices") if row["tenants"])
        wait_until(lambda: console.series(f"device:{device}", "memory_limits_bytes"),
                   "the history has points")
        self.near(console.series(f"device:{device}", "memory_limits_bytes")[-1],
                  devices[device]["promised"], "series of the device")
        share = console.share("train")["id"]
        self.near(console.series(f"share:{share}", "memory_used_bytes")[-1],
                  console.share("train")["used_bytes"], "series of the share")
        for tenant in tenants:
            self.assertEqual(tenant.end(), 0)
        wait_until(lambda: not console.rows("shares"), "the shares have ended")
        self.assertEqual(console.stop(), 0, console.process.stderr.read())

    def test_a_link_opens_one_session(self):
        self.product.agent()
        console = self.console()
        console.call("session", {"token": console.used}, status=401)
        _, token = console.link()
        self.assertNotEqual(token, console.used)
        console.call("session", method="DELETE", status=204)
        console.call("shares", status=401)
        console.call("session", {"token": token})
        self.assertEqual(console.stop(), 0)

    def test_a_stream_tells_of_a_share_that_begins(self):
        self.product.agent()
        console = self.console()
        request = urllib.request.Request(f"{console.url}api/v1/stream?topics=shares")
        with console.opener.open(request, timeout=BOUND) as stream:
            tenant = self.tenant("train", "4Gi")
            end = time.monotonic() + BOUND
            for line in stream:
                if line.startswith(b"data: ") and b'"train"' in line:
                    break
                self.assertLess(time.monotonic(), end, "no delta with the share")
        self.assertEqual(tenant.end(), 0)

    def test_addresses_of_other_machines_are_refused(self):
        status, _, err = self.product.divvy("console", "--local", *self.product.sim, "--listen",
                                            "0.0.0.0:0", "--history", "memory")
        self.assertEqual(status, 2, err)
        self.assertIn("loopback", err)


class Changes(ConsoleTest):
    def resize(self, console, share, memory, dry, **options):
        return console.call("changes", {"what": "resize", "target": {"share": share},
                                        "to": {"memory": memory}, "dry_run": dry}, **options)

    def limit(self):
        return self.product.tenant_row("train")["shares"][0]["limit"]

    def test_a_resize_is_seen_by_the_command_line(self):
        self.product.agent()
        tenant = self.working_tenant("train", "4Gi", 100 * MIB)
        console = self.console("--allow-changes")
        share = wait_until(lambda: console.share("train"), "the console has the share")["id"]
        planned = self.resize(console, share, "6Gi", dry=True)
        self.assertIn("4 GiB to 6 GiB", planned["effects"][0])
        self.assertEqual(self.limit(), 4 * GIB)
        done = self.resize(console, share, "6Gi", dry=False)
        self.assertIsNone(done["refused"], done)
        self.assertEqual(self.limit(), 6 * GIB)
        wait_until(lambda: console.share("train")["limit_bytes"] == 6 * GIB, "the page shows it")
        refused = self.resize(console, share, "600Gi", dry=False)
        self.assertTrue(refused["refused"]["message"], refused)
        self.assertEqual(self.limit(), 6 * GIB)
        self.assertEqual(tenant.end(), 0)

    def test_without_the_option_nothing_changes(self):
        self.product.agent()
        tenant = self.working_tenant("train", "4Gi", 100 * MIB)
        console = self.console()
        share = wait_until(lambda: console.share("train"), "the console has the share")["id"]
        self.resize(console, share, "6Gi", dry=False, status=403)
        self.assertEqual(self.limit(), 4 * GIB)
        self.assertEqual(tenant.end(), 0)

    def test_a_question_is_answered_as_divvy_explain_does(self):
        self.product.agent()
        console = self.console()
        wait_until(console.source, "the agent was read")
        self.assertTrue(console.call("explain", {"memory": "4Gi"})["fits"])
        answer = console.call("explain", {"memory": "4000Gi"})
        self.assertEqual((answer["fits"], answer["impossible"]), (False, True))
        self.assertTrue(answer["summary"])
        self.assertTrue(all(device["refusal"] for device in answer["devices"]))


class Deaths(ConsoleTest):
    def test_rows_stay_when_the_agent_is_killed(self):
        self.product.agent()
        tenant = self.working_tenant("train", "4Gi", GIB)
        console = self.console()
        wait_until(lambda: (console.share("train") or {}).get("used_bytes", 0) >= GIB, "the share is read")
        self.assertEqual(console.source()["state"], "ok")
        before = console.share("train")
        os.kill(self.product.agent_pid(), signal.SIGKILL)
        wait_until(lambda: console.source()["state"] == "unreachable", "the agent's death is seen")
        self.assertTrue(console.source()["message"])
        self.assertEqual(console.share("train")["limit_bytes"], before["limit_bytes"])
        self.assertEqual(console.call("overview")["attention"][0]["code"], "agent-unreachable")
        self.assertIsNotNone(self.product.tenant_row("train"))  # starts an agent
        wait_until(lambda: console.source()["state"] == "ok", "the next agent is read")
        self.assertEqual(tenant.end(), 0)
        wait_until(lambda: console.share("train") is None, "the share has ended")
        self.assertEqual(console.stop(), 0)

    def test_series_survive_the_console(self):
        self.product.agent()
        tenant = self.working_tenant("train", "4Gi", GIB)
        console = self.console()
        share = wait_until(lambda: console.share("train"), "the console has the share")["id"]
        self.assertEqual(self.history.stat().st_mode & 0o077, 0, "others can read the history")
        wait_until(lambda: console.call("session")["history"]["from_ms"], "a minute is in the file",
                   bound=WRITTEN)
        console.process.kill()
        console.process.wait(BOUND)
        again = self.console()
        state = again.call("session")["history"]
        self.assertEqual(state["state"], "ok", state)
        limits = again.series(f"share:{share}", "memory_limit_bytes", console.begun)
        self.assertGreaterEqual(len(limits), 1)
        self.assertTrue(all(limit == 4 * GIB for limit in limits), limits)
        self.assertEqual(tenant.end(), 0)
        self.assertEqual(again.stop(), 0)

    def test_a_second_console_has_no_history_of_the_first(self):
        """One process writes a file: the second one says so."""
        self.product.agent()
        self.console()
        status, _, err = self.product.divvy("console", "--local", *self.product.sim, "--listen",
                                            "127.0.0.1:0", "--history", self.history)
        self.assertEqual(status, 1, err)
        self.assertIn(str(self.history), err)


if __name__ == "__main__":
    main(at_once=3)
