// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"rocketmq-go/config"
	"rocketmq-go/internal/replay"
	"rocketmq-go/namesrv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is a name server without a socket, with files of its own.
type testServer struct {
	*namesrv.Server
	dir   string
	dials atomic.Int64 // counted by those who give it a Dial
}

// load reads a configuration with the given lines; its paths are in a directory of its own.
func load(t testing.TB, lines string) *config.Namesrv {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "namesrv.conf")
	lines += fmt.Sprintf("\nkvConfigPath=%s/kvConfig.json\nrocketmqHome=%s/home\n", dir, dir)
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, warnings, err := config.LoadNamesrv(config.Options{File: file, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		t.Log(w)
	}
	return cfg
}

// start starts a name server with the given lines of configuration; without listenPort it has no socket.
func start(t *testing.T, lines string, o namesrv.Options) *testServer {
	t.Helper()
	cfg := load(t, lines)
	o.Poison = true
	o.NoListen = o.NoListen || !strings.Contains(lines, "listenPort")
	s, err := namesrv.New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &testServer{Server: s, dir: filepath.Dir(cfg.File())}
}

// probe is one request of the recordings namesrv-probe-*: requests to a fresh Java name server in this order.
type probe struct {
	Label      string       `json:"label"`
	Req        replay.Frame `json:"req"`
	ReqBody    *string      `json:"req_body"`
	RespHeader *string      `json:"resp_header"`
	RespBody   string       `json:"resp_body"`
}

func loadProbes(t *testing.T, path string) []*probe {
	t.Helper()
	r, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []*probe
	d := json.NewDecoder(r)
	for {
		p := new(probe)
		if err := d.Decode(p); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}

// ownConn are the brokers of the recording that had connections of their own, by the label of their registration, and
// closedBefore the steps before which such a connection ended.
var (
	ownConn      = map[string]string{"register second broker name": "b2", "acting-master set: master": "b30"}
	closedBefore = map[string]string{
		"acting: route after the master channel closed": "b30", "after broker b2 closed its connection": "b2",
	}
)

// sets are the lists whose order is that of a Java hash table.
var sets = []string{
	"bodyJson.brokerDatas", "bodyJson.queueDatas", "bodyJson.topicList", "bodyJson.clusterAddrTable.CL",
}

// steps makes steps of the probes.
func steps(t *testing.T, probes []*probe) []*replay.Step {
	var out []*replay.Step
	for i, p := range probes {
		st := &replay.Step{
			ID: fmt.Sprintf("%02d", i+1), Note: p.Label, To: "namesrv", Conn: ownConn[p.Label], Code: p.Req.Code,
			Version: &p.Req.Version, Language: p.Req.Language, ExtFields: p.Req.ExtFields, Unordered: sets,
			Expect: map[string]any{"none": true},
		}
		if p.ReqBody != nil {
			if hex := regexp.MustCompile(`^([0-9a-f]{2})+$`); hex.MatchString(*p.ReqBody) {
				st.BodyHex = p.ReqBody
			} else {
				st.BodyText = p.ReqBody
			}
		}
		if p.RespHeader != nil {
			st.Expect = expectation(t, p)
		} else {
			st.TimeoutMs = new(int)
			*st.TimeoutMs = 1000
		}
		out = append(out, st)
	}
	return out
}

func expectation(t *testing.T, p *probe) map[string]any {
	t.Helper()
	var h struct {
		Code      json.Number    `json:"code"`
		Remark    any            `json:"remark"`
		ExtFields map[string]any `json:"extFields"`
	}
	if err := json.Unmarshal([]byte(*p.RespHeader), &h); err != nil {
		t.Fatal(err)
	}
	e := map[string]any{"code": h.Code}
	if h.Remark != nil {
		e["remark"] = h.Remark
	}
	if len(h.ExtFields) > 0 {
		e["extFields"] = h.ExtFields
	}
	if p.RespBody != "" {
		e["bodyText"] = p.RespBody
	}
	return e
}

var opaque = regexp.MustCompile(`"opaque":\d+`)

// sameText compares what looks the same after parsing: the header letter by letter, the body by its letters, whose
// order may differ only as that of sets does.
func sameText(p *probe, got *replay.Frame) error {
	want := opaque.ReplaceAllString(*p.RespHeader, "")
	if have := opaque.ReplaceAllString(got.HeaderText, ""); have != want {
		return fmt.Errorf("header\n\twant %s\n\tgot  %s", want, have)
	}
	if sorted([]byte(p.RespBody)) != sorted(got.Body) {
		return fmt.Errorf("body\n\twant %s\n\tgot  %s", p.RespBody, got.Body)
	}
	return nil
}

// play sends the recorded requests to s and compares the answers. hide takes out of an answer's body what depends on
// this test's set-up.
func play(t *testing.T, s *testServer, probes []*probe, known replay.Known, hide *strings.Replacer) {
	t.Helper()
	r := replay.NewRunner(func(string) (net.Conn, error) { return s.Pipe(), nil })
	defer r.Close()
	differ := 0
	for i, st := range steps(t, probes) {
		if conn := closedBefore[st.Note]; conn != "" {
			if _, err := r.Do(&replay.Step{Op: "close", To: "namesrv", Conn: conn}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.Do(st)
		if err != nil {
			t.Fatalf("%s %s: %v", st.ID, st.Note, err)
		}
		if text, ok := got["bodyText"].(string); ok {
			got["bodyText"] = hide.Replace(text)
			r.Last().Body = []byte(got["bodyText"].(string))
		}
		var problem string
		if d := st.Compare(got); len(d) > 0 {
			problem = fmt.Sprint(d)
		} else if probes[i].RespHeader != nil {
			if err := sameText(probes[i], r.Last()); err != nil {
				problem = err.Error()
			}
		}
		reason, expected := known[st.ID]
		switch {
		case problem != "" && !expected:
			t.Errorf("%s %s: %s", st.ID, st.Note, problem)
		case problem == "" && expected:
			t.Errorf("%s %s does not differ (any more): take it off the list (%s)", st.ID, st.Note, reason)
		case expected:
			differ++
		}
	}
	t.Logf("%d steps, %d known differences", len(probes), differ)
}

func (s *testServer) hide() *strings.Replacer {
	return strings.NewReplacer(
		s.dir+"/kvConfig.json", "$HOME/namesrv/kvConfig.json", s.dir+"/namesrv.conf", "$NSCONF", s.dir+"/home", "$ROCKETMQ_HOME",
	)
}

func TestProbe533(t *testing.T) {
	s := start(t, "supportActingMaster=true\nlistenPort=24710", namesrv.Options{NoListen: true})
	play(t, s, loadProbes(t, "testdata/namesrv-probe-5.3.3.jsonl.gz"), nil, s.hide())
	sameKV(t, s)
}

func TestProbe497(t *testing.T) {
	known, err := replay.LoadKnown("testdata/known-4.9.7.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, "compatVersion=4.9.7\nlistenPort=24700", namesrv.Options{NoListen: true})
	play(t, s, loadProbes(t, "testdata/namesrv-probe-4.9.7.jsonl.gz"), known, s.hide())
	sameKV(t, s)
}

// sameKV compares the file that the requests left behind with the one Java left.
func sameKV(t *testing.T, s *testServer) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(s.dir, "kvConfig.json"))
	if err != nil {
		t.Fatal(err)
	}
	const java = `{"configTable":{"ORDER_TOPIC_CONFIG":{"TA":"b1:4;b2:4"},"N2":{}}}`
	if sorted(got) != sorted([]byte(java)) {
		t.Errorf("kvConfig.json is %s, Java's is %s", got, java)
	}
}

// sorted are the bytes of a text in order: equal for texts that differ in the order of their parts only.
func sorted(b []byte) string {
	b = slices.Clone(b)
	slices.Sort(b)
	return string(b)
}
