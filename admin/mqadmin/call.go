// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rocketmq-go/admin/client"
	cli "rocketmq-go/admin/commonscli"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Call is one run of a sub-command.
type Call struct {
	*cli.Values
	*printer
	ctx      context.Context
	env      Env
	cmd      *Command
	client   *client.Client
	namesrvs []string
	timeout  time.Duration // of a request

	mu     sync.Mutex       // of what follows: calls run at the same time
	first  int              // place in namesrvs of the one that answered
	silent map[string]error // servers that do not answer, while many requests are made; nil: all are asked each time
	failed []error          // what was told of, each once
	shown  int              // length of the progress line on the terminal
}

const defaultTimeout = 5 * time.Second

func newCall(ctx context.Context, e Env, cmd *Command, v *cli.Values) (*Call, error) {
	c := &Call{Values: v, ctx: ctx, env: e, cmd: cmd}
	var err error
	if c.printer, err = newPrinter(e.Stdout, c.own("o", "output")); err != nil {
		return nil, err
	}
	c.timeout = defaultTimeout
	if text := v.Get("timeout"); text != "" {
		if c.timeout, err = time.ParseDuration(text); err != nil || c.timeout <= 0 {
			return nil, fmt.Errorf("--timeout %s: want a duration such as 500ms or 20s", text)
		}
	}
	list := v.Get("n")
	if list == "" {
		list = e.Getenv("NAMESRV_ADDR")
	}
	c.namesrvs = strings.FieldsFunc(list, func(r rune) bool { return r == ';' || r == ' ' })
	o := client.Options{Namesrv: c.namesrvs, Group: "CLIENT_INNER_PRODUCER", Timeout: c.timeout}
	files := client.Files{CA: v.Get("tls-ca"), Cert: v.Get("tls-cert"), Key: v.Get("tls-key")}
	if v.Has("tls") || files != (client.Files{}) || e.Getenv("ROCKETMQ_TLS") == "true" {
		if o.TLS, err = files.TLS(); err != nil {
			return nil, err
		}
	}
	if o.Sign, err = credentials(e); err != nil {
		return nil, err
	}
	c.client = newClient(e, o)
	return c, nil
}

// own is the value of an option of ours, whose short name may belong to another option of the sub-command.
func (c *Call) own(short, long string) string {
	if v := c.Get(long); v != "" {
		return v
	}
	for i := range c.cmd.Options {
		if c.cmd.Options[i].Short == short {
			return ""
		}
	}
	return c.Get(short)
}

func (c *Call) close() { _ = c.client.Close() }

// text is the value of an option without blanks around it.
func (c *Call) text(name string) string { return strings.TrimSpace(c.Get(name)) }

// bool is true for "true" in any case, as in Java.
func (c *Call) bool(name string) bool { return strings.EqualFold(c.text(name), "true") }

// boolOr is bool, or def for an option that was not given.
func (c *Call) boolOr(name string, def bool) bool {
	if !c.Has(name) {
		return def
	}
	return c.bool(name)
}

func (c *Call) integer(name string, bits int, def int64) (int64, error) {
	if !c.Has(name) {
		return def, nil
	}
	n, err := strconv.ParseInt(c.text(name), 10, bits)
	if err != nil {
		return 0, misused("option -%s: %q is not a number that fits", name, c.text(name))
	}
	return n, nil
}

func (c *Call) int32(name string, def int32) (int32, error) {
	n, err := c.integer(name, 32, int64(def))
	return int32(n), err
}

func (c *Call) int64(name string, def int64) (int64, error) { return c.integer(name, 64, def) }

// request is what is asked of a server.
type request struct {
	code   int32
	header protocol.Header
	body   any      // bytes, a text, or a struct for JSON
	fields []string // names and values beside the header
}

func ask(code int32, h protocol.Header) request { return request{code: code, header: h} }

func (r request) command() *protocol.Command {
	var body []byte
	switch b := r.body.(type) {
	case nil:
	case []byte:
		body = b
	case string:
		body = []byte(b)
	default:
		body = fastjson.Marshal(b)
	}
	cmd := protocol.NewRequest(r.code, r.header, body)
	for i := 0; i+1 < len(r.fields); i += 2 {
		cmd.Fields.Add(r.fields[i], r.fields[i+1])
	}
	return cmd
}

// send sends a request to a broker and returns the answer; one that is no success is also a *Refusal.
func (c *Call) send(addr string, r request) (*protocol.Command, error) {
	answer, err := c.exchange(addr, r)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		refusal.Addr = addr
	}
	return answer, err
}

func (c *Call) exchange(addr string, r request) (*protocol.Command, error) {
	if addr == "" {
		return nil, errors.New("no address")
	}
	c.mu.Lock()
	err := c.silent[addr]
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	answer, err := c.client.Call(ctx, addr, r.command())
	if errors.Is(err, context.DeadlineExceeded) && c.ctx.Err() == nil {
		err = fmt.Errorf("%s does not answer request %d within %v", addr, r.code, c.timeout)
	}
	if err != nil && answer == nil {
		c.notAnswered(addr, err)
	}
	if c.env.Trace != nil {
		c.mu.Lock()
		code := "-"
		if answer != nil {
			code = strconv.Itoa(int(answer.Code))
		}
		fmt.Fprintf(c.env.Trace, "%s %d %s\n", addr, r.code, code)
		c.mu.Unlock()
	}
	var refusal *protocol.Error
	if errors.As(err, &refusal) {
		err = &Refusal{Code: refusal.Code, Remark: refusal.Remark}
	}
	return answer, err
}

func (c *Call) notAnswered(addr string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent != nil && c.silent[addr] == nil {
		c.silent[addr] = err
	}
}

// namesrv sends a request to one of the name servers: the one that answered before, or the next one that does.
func (c *Call) namesrv(r request) (*protocol.Command, error) {
	if len(c.namesrvs) == 0 {
		return nil, errNoNamesrv
	}
	var errs failures
	c.mu.Lock()
	first := c.first
	c.mu.Unlock()
	for i := range c.namesrvs {
		at := (first + i) % len(c.namesrvs)
		answer, err := c.exchange(c.namesrvs[at], r)
		var refusal *Refusal
		if err == nil || errors.As(err, &refusal) {
			c.mu.Lock()
			c.first = at
			c.mu.Unlock()
			return answer, err
		}
		if c.ctx.Err() != nil {
			return nil, err
		}
		errs = append(errs, err)
	}
	return nil, errs.orNil()
}

var errNoNamesrv = errors.New("no name server: say which with -n, or set NAMESRV_ADDR")

// everyNamesrv does something with each name server.
func (c *Call) everyNamesrv(do func(addr string) error) error {
	if len(c.namesrvs) == 0 {
		return errNoNamesrv
	}
	return each(c, c.namesrvs, do)
}

// fetch asks a broker for a JSON body.
func fetch[T any](c *Call, addr string, r request) (*T, error) {
	answer, err := c.send(addr, r)
	if err != nil {
		return nil, err
	}
	return decode[T](answer)
}

// lookUp asks a name server for a JSON body.
func lookUp[T any](c *Call, r request) (*T, error) {
	answer, err := c.namesrv(r)
	if err != nil {
		return nil, err
	}
	return decode[T](answer)
}

func decode[T any](answer *protocol.Command) (*T, error) {
	v := new(T)
	if err := fastjson.Unmarshal(answer.Body, v); err != nil && !errors.Is(err, fastjson.ErrNull) {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return v, nil
}

// node is one broker process.
type node struct {
	cluster, name string
	id            int64
	addr          string
}

func (c *Call) clusterInfo() (*protocol.ClusterInfo, error) {
	return lookUp[protocol.ClusterInfo](c, ask(protocol.ReqGetBrokerClusterInfo, nil))
}

// nodes are the brokers of a cluster, or of all for "", sorted by cluster, name and id.
func (c *Call) nodes(cluster string) ([]node, error) {
	info, err := c.clusterInfo()
	if err != nil {
		return nil, err
	}
	list := nodesOf(info, cluster)
	if len(list) == 0 && cluster != "" {
		return nil, fmt.Errorf("there is no broker of cluster [%s]: make sure that the cluster exists and that the name server is its", cluster)
	}
	return list, nil
}

func nodesOf(info *protocol.ClusterInfo, cluster string) []node {
	var list []node
	for name, brokers := range info.ClusterAddrTable.All() {
		if cluster != "" && name != cluster {
			continue
		}
		for _, broker := range brokers {
			data, ok := info.BrokerAddrTable.Get(broker)
			if !ok || data == nil {
				continue
			}
			for id, addr := range data.BrokerAddrs.All() {
				list = append(list, node{name, broker, id, addr})
			}
		}
	}
	slices.SortFunc(list, func(a, b node) int {
		if n := strings.Compare(a.cluster, b.cluster); n != 0 {
			return n
		}
		if n := strings.Compare(a.name, b.name); n != 0 {
			return n
		}
		return int(a.id - b.id)
	})
	return list
}

const masterID = 0

func masters(list []node) []node {
	return slices.DeleteFunc(slices.Clone(list), func(n node) bool { return n.id != masterID })
}

// chosen are the masters that options -b (an address) or -c (a cluster) name.
func (c *Call) chosen() ([]node, error) {
	list, err := c.chosenWithSlaves()
	return masters(list), err
}

func (c *Call) chosenWithSlaves() ([]node, error) {
	switch {
	case c.Has("b"):
		return []node{{addr: c.text("b")}}, nil
	case c.Has("c"):
		return c.nodes(c.text("c"))
	}
	return nil, errUsage
}

// onEach does something with each master that -b or -c names.
func (c *Call) onEach(do func(n node) error) error {
	list, err := c.chosen()
	if err != nil {
		return err
	}
	return each(c, list, do)
}

// route asks where a topic is.
func (c *Call) route(topic string) (*protocol.TopicRouteData, error) {
	return lookUp[protocol.TopicRouteData](c, ask(protocol.ReqGetRouteinfoByTopic, &protocol.GetRouteInfoRequestHeader{
		Topic: protocol.Some(topic), AcceptStandardJsonOnly: protocol.Some(true),
	}))
}

// brokersOf are the brokers of a route that answer for it: the master, or a slave where there is none.
func brokersOf(route *protocol.TopicRouteData) []node {
	var list []node
	for i := range route.BrokerDatas {
		b := &route.BrokerDatas[i]
		n := node{cluster: b.Cluster, name: b.BrokerName}
		found := false
		for id, addr := range b.BrokerAddrs.All() {
			if !found || id < n.id {
				n.id, n.addr, found = id, addr, true
			}
		}
		if found {
			list = append(list, n)
		}
	}
	return list
}

// answered tells an answer with one of some codes from other errors.
func answered(err error, codes ...int32) bool {
	var r *Refusal
	return errors.As(err, &r) && slices.Contains(codes, r.Code)
}

// maxAtOnce bounds the requests under way at the same time.
const maxAtOnce = 16

// concurrently calls do for 0 … n-1, several at a time, and shows the progress on a terminal. A server that does not answer
// is not waited for again: with thousands of topics that would take hours.
func (c *Call) concurrently(what string, n int, do func(i int)) {
	c.mu.Lock()
	c.silent = map[string]error{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.silent = nil
		c.mu.Unlock()
	}()
	var running sync.WaitGroup
	turns := make(chan struct{}, maxAtOnce)
	for i := range n {
		if c.ctx.Err() != nil {
			break
		}
		turns <- struct{}{}
		c.progress(what, i, n)
		running.Go(func() {
			do(i)
			<-turns
		})
	}
	running.Wait()
	c.clearProgress()
}

// progress shows on a terminal how far long work is.
func (c *Call) progress(what string, done, of int) {
	if !c.env.Terminal {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprintf("%s: %d of %d", what, done, of)
	fmt.Fprintf(c.env.Stderr, "\r%-*s", c.shown, text)
	c.shown = len(text)
}

func (c *Call) clearProgress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown > 0 {
		fmt.Fprintf(c.env.Stderr, "\r%*s\r", c.shown, "")
		c.shown = 0
	}
}

// pause waits, until the work is to end.
func (c *Call) pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}
