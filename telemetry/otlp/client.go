// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package otlp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client calls a collector by gRPC: each call is a request of HTTP/2 whose body is a flag (0: not compressed), the length
// and the message, and whose status comes in the trailers.
type Client struct {
	o    ClientOptions
	url  string
	http *http.Transport
}

// ClientOptions of a Client.
type ClientOptions struct {
	Target  *url.URL    // http: without TLS, https: with; only host and port are used
	Header  http.Header // of each call
	Timeout time.Duration
	TLS     *tls.Config                                                       // nil: the system's certificates
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error) // nil: net.Dialer's
}

// NewClient makes a client; it connects when it calls.
func NewClient(o ClientOptions) *Client {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	to := url.URL{Scheme: o.Target.Scheme, Host: o.Target.Host, Path: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"}
	return &Client{o, to.String(), &http.Transport{
		DialContext: o.Dial, Protocols: &protocols, DisableCompression: true, TLSClientConfig: o.TLS, TLSHandshakeTimeout: o.Timeout,
	}}
}

const (
	// maxPoints of a call: collectors take 4 MiB if nobody tells them otherwise, and a point seldom needs 1 KiB.
	maxPoints = 2000
	maxAnswer = 1 << 20
)

// Export brings a batch to the collector, in several calls if it is large. A Refusal says that the collector got all and
// took a part.
func (c *Client) Export(ctx context.Context, b *Batch) error {
	var refused Refusal
	for _, part := range b.split(maxPoints) {
		answer, err := c.call(ctx, appendRequest(make([]byte, frameHeader), part))
		if err != nil {
			c.http.CloseIdleConnections() // the next push makes a new connection: this one may be dead
			return err
		}
		points, why := refusal(answer)
		refused.Points, refused.Why = refused.Points+points, cmp.Or(why, refused.Why)
	}
	if refused.Points > 0 {
		return &refused
	}
	return nil
}

// Close closes the connection.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Refusal is the error of a collector that took only some of the points.
type Refusal struct {
	Points int64 // that it did not take
	Why    string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the collector refused %d points: %s", r.Points, r.Why)
}

// frameHeader are the bytes before each message of gRPC.
const frameHeader = 5

// call sends a framed message and returns the answer.
func (c *Client) call(ctx context.Context, frame []byte) ([]byte, error) {
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-frameHeader))
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(frame))
	if err != nil {
		return nil, err
	}
	for name, values := range c.o.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	req.Header.Set("Grpc-Timeout", timeout(c.o.Timeout))
	req.Header.Set("User-Agent", "rocketmq-go")
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if err := status(resp); err != nil {
		return nil, err
	}
	if len(body) < frameHeader || body[0] != 0 {
		return nil, errors.New("the collector's answer is no message")
	}
	return body[frameHeader:], nil
}

// timeout is how a call says how long it may take: at most eight digits and a unit.
func timeout(d time.Duration) string {
	if ms := d.Milliseconds(); ms < 1e8 {
		return strconv.FormatInt(ms, 10) + "m"
	}
	return strconv.FormatInt(min(int64(d.Seconds()), 1e8-1), 10) + "S"
}

// status is the error that an answer, read to its end, brings. A collector that has nothing else to say sends it in the
// header.
func status(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return errors.New("HTTP status " + resp.Status)
	}
	from := resp.Trailer
	if from.Get("Grpc-Status") == "" {
		from = resp.Header
	}
	code := from.Get("Grpc-Status")
	if code == "0" {
		return nil
	}
	message := from.Get("Grpc-Message")
	if text, err := url.PathUnescape(message); err == nil {
		message = text
	}
	if n, err := strconv.Atoi(code); err == nil && 0 < n && n < len(codes) {
		code = codes[n]
	}
	return fmt.Errorf("gRPC status %s %s", cmp.Or(code, "missing"), message)
}

// codes are the names of gRPC's status codes.
var codes = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
	"DATA_LOSS", "UNAUTHENTICATED",
}
