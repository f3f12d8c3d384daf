// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the protocol's
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"

	"rocketmq-go/remoting/protocol"
)

// Files of certificates in PEM form; each may be "".
type Files struct {
	CA        string // of those who may have signed the server's certificate; without, any server is believed, as in Java
	Cert, Key string // shown to servers that ask for a certificate
}

// TLS is the configuration for servers that are reached by any address: their names are not checked, only who signed
// their certificates.
func (f Files) TLS() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: true} // by itself it would check the name too
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", f.CA)
		}
		c.VerifyConnection = func(s tls.ConnectionState) error { return signedBy(roots, s.PeerCertificates) }
	}
	if f.Cert == "" && f.Key == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %q with key %q: %w", f.Cert, f.Key, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

func signedBy(roots *x509.CertPool, shown []*x509.Certificate) error {
	o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range shown[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := shown[0].Verify(o)
	return err
}

// Signer adds to a request the fields AccessKey, SecurityToken when there is one, and Signature: the HMAC-SHA1 of the
// values of all fields, in the order of their names, and the body.
func Signer(accessKey, secretKey, securityToken string) func(*protocol.Command) {
	return func(cmd *protocol.Command) {
		cmd.Fields.Add("AccessKey", accessKey)
		if securityToken != "" {
			cmd.Fields.Add("SecurityToken", securityToken)
		}
		fields := slices.Clone(cmd.Fields.List)
		slices.SortStableFunc(fields, func(a, b protocol.Field) int { return strings.Compare(a.Key, b.Key) })
		h := hmac.New(sha1.New, []byte(secretKey))
		for _, f := range fields {
			h.Write([]byte(f.Value))
		}
		h.Write(cmd.Body)
		cmd.Fields.Add("Signature", base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
}
