"""Signatures as cosign makes them with a key of its own: ECDSA over P-256 and SHA-256, ASN.1 form, base64.

The scheme: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md ("Signature Schemes"). openssl does the
arithmetic; cosign is not needed."""
import base64
import binascii
import hashlib
import pathlib
import subprocess
import tempfile


class BadKey(Exception):
    """A key cannot be used; the text says why and what is accepted."""


def openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, capture_output=True)


def public_of(key):
    """The public half of a private key, in PEM as cosign.pub has it. Refuses other kinds of keys."""
    done = openssl("pkey", "-in", str(key), "-noout", "-text")
    if done.returncode != 0:
        raise BadKey(f"{key} cannot be read as a private key in PEM; accepted: an EC key over P-256 that openssl reads")
    if b"prime256v1" not in done.stdout:
        raise BadKey(f"{key} is not an EC key over P-256, which is what cosign verifies with")
    return openssl("pkey", "-in", str(key), "-pubout").stdout.decode()


def hint_of(public):
    """Names a public key (PEM) in bundles: SHA-256 of its DER form, base64. A hint only, it proves nothing."""
    body = "".join(line for line in public.splitlines() if not line.startswith("-----"))
    return base64.b64encode(hashlib.sha256(base64.b64decode(body)).digest()).decode()


def generate(path):
    """A key for checks. Releases are signed with a key that the caller has."""
    done = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(path))
    if done.returncode != 0:
        raise BadKey(done.stderr.decode().strip())
    path.chmod(0o600)


def sign(key, data):
    """The signature in base64, one line."""
    done = openssl("dgst", "-sha256", "-sign", str(key), data=data)
    if done.returncode != 0:
        raise BadKey(f"{key} cannot sign: {done.stderr.decode().strip()}")
    return base64.b64encode(done.stdout).decode()


def verify(public_key, signature, data):
    """True if `signature` (base64) over `data` is by the owner of `public_key`, a file in PEM."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "signature")
        path.write_bytes(raw)
        return openssl("dgst", "-sha256", "-verify", str(public_key), "-signature", str(path), data=data).returncode == 0
