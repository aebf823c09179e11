package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Longer than any test, shorter than anybody could forget.
const certificateLife = 7 * 24 * time.Hour

// authority signs what the parts of a cluster show each other. Its key never leaves `up`, but for
// the controller manager's copy.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	dir         string
}

func template(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}, nil
}

// newAuthority writes ca.crt and ca.key into dir.
func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	form, err := template(pkix.Name{CommonName: "divvy test cluster"})
	if err != nil {
		return nil, err
	}
	form.IsCA = true
	form.BasicConstraintsValid = true
	form.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	made := &authority{certificate, key, dir}
	return made, made.write("ca", der, key)
}

// openAuthority reads what newAuthority wrote.
func openAuthority(dir string) (*authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: ca.key is not one of ours", dir)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	return &authority{certificate, key, dir}, err
}

func (a *authority) path(file string) string { return filepath.Join(a.dir, file) }

func (a *authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(a.path(name+".crt"), "CERTIFICATE", der, 0o644); err != nil {
		return err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(a.path(name+".key"), "EC PRIVATE KEY", encoded, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}

func (a *authority) issue(name string, form *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, form, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	return a.write(name, der, key)
}

// client is somebody the apiserver knows by user and groups.
func (a *authority) client(name, user string, groups ...string) error {
	form, err := template(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return err
	}
	form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(name, form)
}

// server is somebody who is found at these names and addresses.
func (a *authority) server(name string, names []string, addresses []net.IP) error {
	form, err := template(pkix.Name{CommonName: name})
	if err != nil {
		return err
	}
	form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	form.DNSNames = names
	form.IPAddresses = addresses
	return a.issue(name, form)
}

// signingKey is what tokens of service accounts are signed with.
func (a *authority) signingKey(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(a.path(name+".pub"), "PUBLIC KEY", public, 0o644); err != nil {
		return err
	}
	return writePEM(a.path(name+".key"), "EC PRIVATE KEY", private, 0o600)
}
