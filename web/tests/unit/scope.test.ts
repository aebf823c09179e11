// What a viewer may list, and tokens as they are pasted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hiddenCollections, hiddenSource, namespaceOfFilter, namespacesOf, pastedToken } from "../../src/core/scope";

test("pastedToken.WhiteSpaceAndHeader_AreLeftOut", () => {
  assert.equal(pastedToken("  eyJhbGci.eyJzdWIi\n.c2ln \r\n"), "eyJhbGci.eyJzdWIi.c2ln");
  assert.equal(pastedToken("Authorization: Bearer a.b.c"), "a.b.c");
  assert.equal(pastedToken("bearer\ta.b.c"), "a.b.c");
  assert.equal(pastedToken("bearer.b.c"), "bearer.b.c");
  assert.equal(pastedToken(" \n"), "");
});

const scope = { everything: false, nodes: false, queues: true, pods: ["a", "b"], events: null };

test("hiddenCollections.Scope_NamesWhatIsMissing", () => {
  assert.deepEqual(hiddenCollections(scope), ["nodes", "pods"]);
  assert.deepEqual(hiddenCollections({ ...scope, nodes: true, pods: null, events: [] }), ["events"]);
  assert.deepEqual(hiddenCollections({ everything: true, nodes: false, queues: false }), []);
  assert.deepEqual(hiddenCollections(null), []);
});

test("hiddenSource.Lists_NeedTheirCollection", () => {
  assert.equal(hiddenSource("pools", scope), "nodes");
  assert.equal(hiddenSource("workloads", scope), "pods");
  for (const list of ["queues", "events", "newer"]) assert.equal(hiddenSource(list, scope), null, list);
  assert.equal(hiddenSource("nodes", undefined), null);
});

test("hiddenSource.FilterOfSeenNamespace_HidesNothing", () => {
  assert.equal(hiddenSource("shares", scope, ["namespace=a", "owner=Job/x"]), null);
  assert.equal(hiddenSource("waiting", scope, ["name=b/pod"]), null);
  assert.equal(hiddenSource("shares", scope, ["namespace=c"]), "pods");
  assert.equal(hiddenSource("devices", scope, ["namespace=a"]), "nodes");
  assert.deepEqual(["name=pod", "name=a/pod", "namespace=a", "namespace:a", "x"].map(namespaceOfFilter), ["", "a", "a", "", ""]);
});

test("namespacesOf.AllNamespaces_IsNull", () => {
  assert.deepEqual(namespacesOf("pods", scope), ["a", "b"]);
  assert.equal(namespacesOf("events", scope), null);
  assert.equal(namespacesOf("nodes", scope), null);
  assert.equal(namespacesOf("pods", null), null);
});
