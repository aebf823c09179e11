"""Statements about artefacts, and the forms that they are signed in.

- payload of an image's signature: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md ("Simple Signing")
- statement: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
- provenance: https://slsa.dev/spec/v1.0/provenance
- bundle, the one form that newer cosigns read: https://docs.sigstore.dev/about/bundle
- envelope and what its signature covers: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md, envelope.md"""
import base64
import binascii
import hashlib
import json

import keys

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
SBOM = "https://spdx.dev/Document"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
IMAGE_SIGNATURE = "cosign container image signature"
BUILD_TYPE = "https://divvy.dev/build/v1"
# The party that vouches for the build: the script ./dev of this project, run by the owner of the key.
BUILDER = "https://divvy.dev/builders/dev-script/v1"
SOURCE = "git+https://divvy.dev/divvy"
COMMANDS = {"image": "./dev images", "chart": "./dev chart", "package": "./dev package"}


class Refused(Exception):
    """A signature or a statement does not hold; the text is the reason."""


def compact(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def image_payload(reference, digest):
    return compact({"critical": {"identity": {"docker-reference": reference},
                                 "image": {"docker-manifest-digest": f"sha256:{digest}"}, "type": IMAGE_SIGNATURE},
                    "optional": None})


def check_image_payload(data, digest):
    try:
        critical = json.loads(data)["critical"]
        named, kind = critical["image"]["docker-manifest-digest"], critical["type"]
    except (KeyError, TypeError, ValueError):
        raise Refused("the payload is not in the form of simple signing") from None
    if kind != IMAGE_SIGNATURE:
        raise Refused(f"the payload is of type \"{kind}\"")
    if named != f"sha256:{digest}":
        raise Refused(f"the payload names {named}, the image's manifest is sha256:{digest}")


def statement(artefact, predicate_type, predicate):
    return {"_type": STATEMENT, "subject": [{"name": artefact.name, "digest": {"sha256": artefact.digest}}],
            "predicateType": predicate_type, "predicate": predicate}


def dependency(package):
    """A ResourceDescriptor of a package that an SPDX document lists."""
    found = {"uri": package["externalRefs"][0]["referenceLocator"], "name": package["name"],
             "annotations": {"version": package["versionInfo"]}}
    for checksum in package.get("checksums", []):
        found["digest"] = {checksum["algorithm"].lower(): checksum["checksumValue"]}
    return found


def provenance(kind, commit, modified, packages, builder=BUILDER, source=SOURCE, snapshot=""):
    """SLSA's predicate. No times: the same build has the same provenance."""
    tree = {"uri": source, "name": "source", "digest": {"gitCommit": commit}}
    if modified:
        tree["annotations"] = {"modified": True}
    internal = {"debianSnapshot": snapshot} if snapshot and kind == "image" else {}
    return {"buildDefinition": {"buildType": BUILD_TYPE,
                                "externalParameters": {"source": f"{source}@{commit}", "command": COMMANDS[kind]},
                                "internalParameters": internal, "resolvedDependencies": [tree, *packages]},
            "runDetails": {"builder": {"id": builder}}}


def pae(payload_type, payload):
    """DSSE's pre-authentication encoding; lengths are of bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def envelope(key, stated):
    payload = compact(stated)
    signature = keys.sign(key, pae(PAYLOAD_TYPE, payload))
    return compact({"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(),
                    "signatures": [{"keyid": "", "sig": signature}]})


def bundle(hint, content):
    return compact({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": hint}}, **content})


def signature_bundle(hint, signature, data):
    """A file's signature as a bundle; `signature` in base64."""
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return bundle(hint, {"messageSignature": {"messageDigest": {"algorithm": "SHA2_256", "digest": digest},
                                              "signature": signature}})


def envelope_bundle(hint, sealed):
    """An envelope as a bundle."""
    return bundle(hint, {"dsseEnvelope": json.loads(sealed)})


def unbundled(data, name):
    """A signature's text or an envelope's JSON, of a bundle; nothing of it is verified yet."""
    try:
        read = json.loads(data)
        kind, content = read["mediaType"], read[name]
        found = content["signature"].encode() if name == "messageSignature" else compact(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Refused("the bundle is not in Sigstore's form") from None
    if kind != BUNDLE:
        raise Refused(f"the bundle is of type {kind}; accepted: {BUNDLE}")
    return found


def opened(public_key, data):
    """The statement in an envelope. Nothing of it is read before its signature holds."""
    try:
        read = json.loads(data)
        kind, payload = read["payloadType"], base64.b64decode(read["payload"], validate=True)
        signatures = [one["sig"] for one in read["signatures"]]
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise Refused("the attestation is no DSSE envelope") from None
    if kind != PAYLOAD_TYPE:
        raise Refused(f"the attestation holds {kind}; accepted: {PAYLOAD_TYPE}")
    if not any(keys.verify(public_key, one, pae(kind, payload)) for one in signatures):
        raise Refused("no signature of the attestation is by this key")
    return json.loads(payload)


def check_statement(stated, artefact, predicate_type):
    if stated.get("_type") != STATEMENT or stated.get("predicateType") != predicate_type:
        raise Refused(f"the statement is about {stated.get('predicateType')}; accepted: {predicate_type}")
    digests = [one.get("digest", {}).get("sha256") for one in stated.get("subject", [])]
    if digests != [artefact.digest]:
        raise Refused(f"the statement is about sha256:{','.join(map(str, digests))}, not sha256:{artefact.digest}")
