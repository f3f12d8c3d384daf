// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"rocketmq-go/config"
	"rocketmq-go/remoting"
)

// serverTLS is what the tls.server.* keys ask for; nil when TLS is switched off. In test mode, the default as in Java,
// a certificate that nobody knows serves, made when the first client asks for TLS.
func serverTLS(own *config.OwnConfig) (*tls.Config, error) {
	if strings.EqualFold(own.TLSServerMode, string(remoting.TLSDisabled)) {
		return nil, nil
	}
	if own.TLSTestModeEnable {
		selfSigned := sync.OnceValues(remoting.SelfSigned)
		return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c, err := selfSigned()
			return &c, err
		}}, nil
	}
	if own.TLSServerKeyPath == "" || own.TLSServerCertPath == "" {
		return nil, errors.New("tls.test.mode.enable=false needs tls.server.keyPath and tls.server.certPath")
	}
	if own.TLSServerKeyPassword != "" {
		return nil, errors.New("tls.server.keyPassword: encrypted keys are not supported, store the key as plain PKCS#8 PEM")
	}
	files := &keyPair{certFile: own.TLSServerCertPath, keyFile: own.TLSServerKeyPath}
	if _, err := files.current(); err != nil {
		return nil, err
	}
	c := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return files.current() }}
	return c, clientAuth(c, own)
}

// clientTLS secures the connections that a server opens, when tls.enable or useTLS asks for it; otherwise nil. As in Java a server
// is believed unless tls.client.authServer says that its certificate is checked.
func clientTLS(own *config.OwnConfig, use bool) (*tls.Config, error) {
	if !own.TLSEnable && !use {
		return nil, nil
	}
	c := &tls.Config{InsecureSkipVerify: own.TLSTestModeEnable || !own.TLSClientAuthServer}
	if !c.InsecureSkipVerify && own.TLSClientTrustCertPath != "" {
		var err error
		if c.RootCAs, err = authorities("tls.client.trustCertPath", own.TLSClientTrustCertPath); err != nil {
			return nil, err
		}
	}
	if own.TLSTestModeEnable || own.TLSClientCertPath == "" {
		return c, nil
	}
	if own.TLSClientKeyPassword != "" {
		return nil, errors.New("tls.client.keyPassword: encrypted keys are not supported, store the key as plain PKCS#8 PEM")
	}
	files := &keyPair{certFile: own.TLSClientCertPath, keyFile: own.TLSClientKeyPath}
	if _, err := files.current(); err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return files.current() }
	return c, nil
}

func authorities(key, file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s holds no certificate", key, file)
	}
	return pool, nil
}

// clientAuth sets who must show a certificate, and whether it is checked.
func clientAuth(c *tls.Config, own *config.OwnConfig) error {
	var asked, checked tls.ClientAuthType
	switch need := strings.ToLower(own.TLSServerNeedClientAuth); need {
	case "", "none":
		return nil
	case "optional":
		asked, checked = tls.RequestClientCert, tls.VerifyClientCertIfGiven
	case "require":
		asked, checked = tls.RequireAnyClientCert, tls.RequireAndVerifyClientCert
	default:
		return fmt.Errorf("tls.server.need.client.auth=%s: none, optional or require", need)
	}
	if !own.TLSServerAuthClient {
		c.ClientAuth = asked
		return nil
	}
	c.ClientAuth = checked
	if own.TLSServerTrustCertPath == "" {
		return nil // the system's authorities
	}
	var err error
	c.ClientCAs, err = authorities("tls.server.trustCertPath", own.TLSServerTrustCertPath)
	return err
}

// keyPair is a certificate in files that may be renewed while the server runs: a handshake looks whether both have
// changed. A pair that does not fit is not taken; the former one goes on.
type keyPair struct {
	certFile, keyFile string

	mu                sync.Mutex
	cert              *tls.Certificate
	certTime, keyTime time.Time
}

func (k *keyPair) current() (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	certTime, keyTime := modified(k.certFile), modified(k.keyFile)
	if k.cert != nil && (certTime.Equal(k.certTime) || keyTime.Equal(k.keyTime)) {
		return k.cert, nil
	}
	c, err := tls.LoadX509KeyPair(k.certFile, k.keyFile)
	switch {
	case err == nil:
		k.cert, k.certTime, k.keyTime = &c, certTime, keyTime
	case k.cert == nil:
		return nil, fmt.Errorf("certificate %s with key %s: %w", k.certFile, k.keyFile, err)
	}
	return k.cert, nil
}

func modified(file string) time.Time {
	if info, err := os.Stat(file); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}
