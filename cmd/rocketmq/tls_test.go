// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rocketmq-go/config"
)

// certificate writes a certificate for 127.0.0.1 and its key, and returns their files.
func certificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// serial connects and returns the serial number of the certificate that the server shows.
func serial(t *testing.T, addr string, c *tls.Config) int64 {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestTLSByDefault shows that, as with Java, clients may use TLS and plain text on the same ports without any setting.
func TestTLSByDefault(t *testing.T) {
	_, at := startStandalone(t, t.TempDir(), "--set", "tls.enable=true")
	for _, addr := range []string{at.Namesrv, at.Broker, at.Fast} {
		if serial(t, addr, &tls.Config{InsecureSkipVerify: true}) == 0 {
			t.Errorf("%s: no certificate", addr)
		}
	}
	// The broker came to the name server over TLS; this client is a plain one.
	if demo := run(t, "demo", "-n", at.Namesrv); demo.wait(t) != exitOK {
		t.Errorf("demo: %s", &demo.err)
	}
}

func TestTLSWithCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, 1001)
	settings := filepath.Join(dir, "tls.properties")
	text := "tls.test.mode.enable=false\ntls.server.certPath=" + cert + "\ntls.server.keyPath=" + key + "\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, at := startStandalone(t, t.TempDir(), "--set", "tls.config.file="+settings, "--set", "tls.server.mode=enforcing")
	roots := func() *x509.CertPool {
		pool, err := authorities("test", cert)
		if err != nil {
			t.Fatal(err)
		}
		return pool
	}
	if got := serial(t, at.Broker, &tls.Config{RootCAs: roots()}); got != 1001 {
		t.Errorf("the certificate's number is %d", got)
	}
	certificate(t, dir, 1002)
	later := time.Now().Add(time.Minute)
	for _, file := range []string{cert, key} {
		if err := os.Chtimes(file, later, later); err != nil {
			t.Fatal(err)
		}
	}
	if got := serial(t, at.Broker, &tls.Config{RootCAs: roots()}); got != 1002 {
		t.Errorf("after a renewal the certificate's number is %d", got)
	}
	other, _ := certificate(t, t.TempDir(), 1003)
	for _, x := range []struct {
		args string
		code int
		want string
	}{
		{"", exitFailed, "is a server running at"}, // a plain client, although TLS is enforced
		{"--tls", exitOK, ""},
		{"--tls-ca " + cert, exitOK, ""},
		{"--tls-ca " + other, exitFailed, "certificate signed by unknown authority"},
		{"--tls-ca " + key, exitUsage, "holds no certificate"},
		{"--access-key user", exitUsage, "--access-key needs --secret-key"},
	} {
		demo := run(t, strings.Fields("demo -n "+at.Namesrv+" "+x.args)...)
		if code := demo.wait(t); code != x.code || !strings.Contains(demo.err.String(), x.want) {
			t.Errorf("demo %s: ends with %d, want %d\n%s", x.args, code, x.code, &demo.err)
		}
		if x.code == exitUsage {
			continue
		}
		if admin := run(t, strings.Fields("mqadmin clusterList -n "+at.Namesrv+" "+x.args)...); admin.wait(t) != x.code {
			t.Errorf("mqadmin %s: want exit code %d\n%s", x.args, x.code, &admin.err)
		}
	}
}

// TestTLSForClients shows a certificate to a server that wants one.
func TestTLSForClients(t *testing.T) {
	cert, key := certificate(t, t.TempDir(), 1001)
	settings := filepath.Join(t.TempDir(), "tls.properties")
	text := "tls.test.mode.enable=false\ntls.server.certPath=" + cert + "\ntls.server.keyPath=" + key +
		"\ntls.server.need.client.auth=require\ntls.server.authClient=true\ntls.server.trustCertPath=" + cert + "\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, at := startStandalone(t, t.TempDir(), "--set", "tls.config.file="+settings)
	if demo := run(t, "demo", "-n", at.Namesrv, "--tls"); demo.wait(t) != exitFailed {
		t.Error("no certificate was asked for")
	}
	if demo := run(t, "demo", "-n", at.Namesrv, "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key); demo.wait(t) != exitOK {
		t.Errorf("demo: %s", &demo.err)
	}
}

func TestTLSSettingsRefused(t *testing.T) {
	cert, _ := certificate(t, t.TempDir(), 1)
	_, key := certificate(t, t.TempDir(), 2)
	for want, own := range map[string]config.OwnConfig{
		"tls.server.keyPath":          {},
		"tls.server.keyPassword":      {TLSServerCertPath: cert, TLSServerKeyPath: key, TLSServerKeyPassword: "x"},
		cert + " with key " + key:     {TLSServerCertPath: cert, TLSServerKeyPath: key},
		"tls.server.need.client.auth": {TLSServerCertPath: cert, TLSServerKeyPath: filepath.Join(filepath.Dir(cert), "key.pem"), TLSServerNeedClientAuth: "perhaps"},
		"tls.server.trustCertPath": {
			TLSServerCertPath: cert, TLSServerKeyPath: filepath.Join(filepath.Dir(cert), "key.pem"),
			TLSServerNeedClientAuth: "require", TLSServerAuthClient: true, TLSServerTrustCertPath: "/nonexistent",
		},
	} {
		if _, err := serverTLS(&own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
	own := config.OwnConfig{TLSEnable: true, TLSClientAuthServer: true, TLSClientTrustCertPath: "/nonexistent"}
	if _, err := clientTLS(&own, false); err == nil {
		t.Error("a missing trust file is no error")
	}
}

// useTLS is Java's other name for tls.enable.
func TestUseTLS(t *testing.T) {
	var own config.OwnConfig
	if c, err := clientTLS(&own, false); c != nil || err != nil {
		t.Error("without either:", c, err)
	}
	if c, err := clientTLS(&own, true); c == nil || err != nil {
		t.Error("useTLS:", c, err)
	}
}
