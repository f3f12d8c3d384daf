// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/remoting/protocol"
)

// fakeConn is a connection by identity.
type fakeConn struct {
	name   string
	closed bool
}

func (c *fakeConn) Close() { c.closed = true }

// clock is a time that tests move.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newTable(release string) (*Table, *clock) {
	c := &clock{time.Unix(1_700_000_000, 0)}
	return New(compat.For(release), c.now), c
}

// broker makes a registration of address "name-id:version" with the given topics.
func reg(name string, id int64, version int64, topics ...string) *Registration {
	r := &Registration{
		Cluster: "C", Name: name, Addr: fmt.Sprintf("%s-%d", name, id), ID: id, HAAddr: fmt.Sprintf("%s-%d-ha", name, id),
		Body: Body{Version: DataVersion{Counter: version, Timestamp: version}},
	}
	for _, t := range topics {
		r.Topics = append(r.Topics, TopicQueues{t, Queues{4, 4, 6, 0}})
	}
	return r
}

func acting(r *Registration) *Registration {
	r.Acting = protocol.Some(true)
	return r
}

func mustRegister(t *testing.T, tb *Table, r *Registration) Registered {
	t.Helper()
	a, err := tb.Register(r, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// show prints the route of a topic: per broker its members and the permission.
func show(tb *Table, topic string) string {
	d := tb.Route(topic, View{Acting: true})
	if d == nil {
		return "none"
	}
	var out []string
	for i, b := range d.BrokerDatas {
		var members []string
		for id, addr := range b.BrokerAddrs.All() {
			members = append(members, fmt.Sprintf("%d=%s", id, addr))
		}
		out = append(out, fmt.Sprintf("%s[%s]%d", b.BrokerName, strings.Join(members, " "), d.QueueDatas[i].Perm))
	}
	return strings.Join(out, " ")
}

func expect(t *testing.T, tb *Table, topic, want string) {
	t.Helper()
	if got := show(tb, topic); got != want {
		t.Errorf("route of %s: %s, want %s", topic, got, want)
	}
}

func TestRegisterAndLookup(t *testing.T) {
	tb, _ := newTable("5.3.3")
	if a := mustRegister(t, tb, reg("b", 0, 1, "T1", "T2")); !a.New || a.MasterAddr.Set {
		t.Errorf("answer to the master: %+v", a)
	}
	a := mustRegister(t, tb, reg("b", 1, 1, "T1", "Only"))
	if a.MasterAddr.V != "b-0" || a.MasterHA.V != "b-0-ha" {
		t.Errorf("answer to the slave: %+v", a)
	}
	mustRegister(t, tb, reg("a", 0, 1, "T1", "T3"))
	expect(t, tb, "T1", "a[0=a-0]6 b[0=b-0 1=b-1]6")
	expect(t, tb, "Only", "none") // topics of a slave do not count

	const standard = `{"brokerDatas":[{"brokerAddrs":{"0":"b-0","1":"b-1"},"brokerName":"b","cluster":"C","enableActingMaster":false}],` +
		`"filterServerTable":{},"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	legacy := strings.NewReplacer(`"0":`, "0:", `"1":`, "1:").Replace(standard)
	for flavour, want := range map[Flavour]string{Standard: standard, Legacy: legacy} {
		for range 2 { // the second answer comes from the cache
			if body, _ := tb.Lookup("T2", View{Flavour: flavour}); string(body) != want {
				t.Errorf("flavour %d\ngot  %s\nwant %s", flavour, body, want)
			}
		}
	}
	if _, ok := tb.Lookup("None", View{}); ok {
		t.Error("unknown topic was found")
	}
}

func TestRelease49(t *testing.T) {
	tb, _ := newTable("4.9.7")
	mustRegister(t, tb, reg("b", 0, 1, "One")) // one topic is enough
	mustRegister(t, tb, acting(reg("s", 1, 1, "T1", "T2")))
	expect(t, tb, "T1", "none") // no prime slaves
	body, _ := tb.Lookup("One", View{Flavour: Standard})
	if strings.Contains(string(body), "enableActingMaster") {
		t.Errorf("a field of 5.x: %s", body)
	}
	tb.DeleteTopic("One")
	mustRegister(t, tb, reg("b", 0, 1, "One"))
	expect(t, tb, "One", "none")
	mustRegister(t, tb, reg("b", 0, 2, "One"))
	expect(t, tb, "One", "b[0=b-0]6")
	// The state version is unknown to 4.9: the last one wins.
	first, second := reg("b", 0, 3, "One"), reg("b", 0, 3, "One")
	first.Version.StateVersion, second.Addr = 5, "other"
	mustRegister(t, tb, first)
	mustRegister(t, tb, second)
	expect(t, tb, "One", "b[0=other]6")
}

// U013: a name server that was restarted must not take an increment for everything a broker has.
func TestFirstRegistrationWithOneTopic(t *testing.T) {
	tb, _ := newTable("5.3.3")
	_, err := tb.Register(reg("b", 0, 1, "New"), false)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != 1 || e.Remark != "register broker failed" {
		t.Fatalf("error %v", err)
	}
	if got := tb.Topics(); len(got) != 0 {
		t.Errorf("topics %v", got)
	}
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprintf("T%02d", i))
	}
	mustRegister(t, tb, reg("b", 0, 1, all...))
	mustRegister(t, tb, reg("b", 0, 2, "New"))
	if got := tb.Topics(); len(got) != 51 {
		t.Errorf("%d topics", len(got))
	}
}

// U014: what removes a broker must look at the registration that holds now.
func TestLateRemovals(t *testing.T) {
	tb, clock := newTable("5.3.3")
	one, two := &fakeConn{name: "one"}, &fakeConn{name: "two"}
	r := reg("b", 0, 1, "T1", "T2")
	r.Conn = one
	mustRegister(t, tb, r)
	again := reg("b", 0, 1, "T1", "T2")
	again.Conn = two
	mustRegister(t, tb, again)
	if gone := tb.Closed(one); gone != nil {
		t.Errorf("the end of the old connection removed %v", gone)
	}
	expect(t, tb, "T1", "b[0=b-0]6")

	clock.t = clock.t.Add(DefaultTimeout + time.Millisecond)
	mustRegister(t, tb, again)
	if gone := tb.Expire(); gone != nil {
		t.Errorf("a broker that just registered expired: %v", gone)
	}

	// The slave's address became the master's; then the slave's own farewell arrives.
	moved := reg("b", 0, 2, "T1", "T2")
	moved.Addr, moved.Conn = "b-1", two
	mustRegister(t, tb, reg("b", 1, 1))
	mustRegister(t, tb, moved)
	expect(t, tb, "T1", "b[0=b-1]6")
	if _, ok := tb.Unregister("C", "b", "b-1", 1); ok {
		t.Error("the slave's late farewell removed the master")
	}
	expect(t, tb, "T1", "b[0=b-1]6")
	// The address that lost its id leaves without taking the new holder along.
	clock.t = clock.t.Add(DefaultTimeout + time.Millisecond)
	tb.Heartbeat("C", "b-1")
	tb.Expire()
	expect(t, tb, "T1", "b[0=b-1]6")
	if tb.Heartbeat("C", "b-0") {
		t.Error("the old address still counts as alive")
	}
	if gone := tb.Closed(two); len(gone) != 1 || gone[0].Addr != "b-1" {
		t.Errorf("the end of the connection removed %v", gone)
	}
	expect(t, tb, "T1", "none")
	if info := tb.Clusters(); info.BrokerAddrTable.Len() != 0 || info.ClusterAddrTable.Len() != 0 {
		t.Errorf("left over: %+v", info)
	}
}

func TestExpire(t *testing.T) {
	tb, clock := newTable("5.3.3")
	slow, quick := reg("slow", 0, 1, "T1", "T2"), reg("quick", 0, 1, "T1", "T2")
	quick.Timeout = 10 * time.Second
	conn := &fakeConn{}
	quick.Conn = conn
	mustRegister(t, tb, slow)
	mustRegister(t, tb, quick)
	clock.t = clock.t.Add(8 * time.Second)
	tb.Heartbeat("C", "quick-0")
	clock.t = clock.t.Add(10 * time.Second)
	if gone := tb.Expire(); gone != nil {
		t.Errorf("gone at its timeout: %v", gone)
	}
	clock.t = clock.t.Add(time.Millisecond)
	gone := tb.Expire()
	if len(gone) != 1 || gone[0].Name != "quick" || gone[0].Conn != conn {
		t.Errorf("gone: %v", gone)
	}
	expect(t, tb, "T1", "slow[0=slow-0]6")
	clock.t = clock.t.Add(DefaultTimeout)
	if gone := tb.Expire(); len(gone) != 1 || gone[0].Name != "slow" {
		t.Errorf("gone: %v", gone)
	}
}

func TestTopicsStayAndReturn(t *testing.T) {
	tb, _ := newTable("5.3.3")
	mustRegister(t, tb, reg("b", 0, 1, "T1", "T2"))
	mustRegister(t, tb, reg("b", 0, 2, "T1", "T3"))
	if got := tb.Topics(); !slices.Equal(got, []string{"T1", "T2", "T3"}) {
		t.Errorf("a topic that is no longer named must stay: %v", got)
	}
	if _, err := tb.Register(reg("b", 0, 3, "T1", "T3"), true); err != nil {
		t.Fatal(err)
	}
	if got := tb.Topics(); !slices.Equal(got, []string{"T1", "T3"}) {
		t.Errorf("deleteTopicWithBrokerRegistration: %v", got)
	}
	tb.DeleteTopicInCluster("T1", "other")
	expect(t, tb, "T1", "b[0=b-0]6")
	tb.DeleteTopicInCluster("T1", "C")
	expect(t, tb, "T1", "none")
	mustRegister(t, tb, reg("b", 0, 3, "T1", "T3"))
	expect(t, tb, "T1", "b[0=b-0]6")
}

func TestWipeLastsUntilTheVersionChanges(t *testing.T) {
	tb, _ := newTable("5.3.3")
	r := reg("b", 0, 1, "T1", "T2")
	r.Topics[0].Perm = 7
	mustRegister(t, tb, r)
	if n := tb.WipeWrite("b"); n != 2 {
		t.Errorf("wiped %d topics", n)
	}
	expect(t, tb, "T1", "b[0=b-0]5")
	mustRegister(t, tb, r)
	expect(t, tb, "T1", "b[0=b-0]5")
	if n := tb.AddWrite("b"); n != 2 {
		t.Errorf("gave %d topics", n)
	}
	expect(t, tb, "T1", "b[0=b-0]6")
	r.Version.Counter++
	mustRegister(t, tb, r)
	expect(t, tb, "T1", "b[0=b-0]7")
	if n := tb.WipeWrite("nobody") + tb.AddWrite("nobody"); n != 0 {
		t.Errorf("%d topics of nobody", n)
	}
}

func TestStateVersionKeepsTheID(t *testing.T) {
	tb, _ := newTable("5.3.3")
	holder, late, later := reg("b", 0, 1, "T1", "T2"), reg("b", 0, 1, "T1", "T2"), reg("b", 0, 1, "T1", "T2")
	late.Addr, later.Addr = "late", "later"
	holder.Version.StateVersion, late.Version.StateVersion, later.Version.StateVersion = 5, 4, 6
	mustRegister(t, tb, holder)
	mustRegister(t, tb, late)
	expect(t, tb, "T1", "b[0=b-0]6")
	if _, known, _ := tb.QueryVersion("C", "late", late.Version); known {
		t.Error("the refused address counts as alive")
	}
	mustRegister(t, tb, later)
	expect(t, tb, "T1", "b[0=later]6")
}

func TestActingMaster(t *testing.T) {
	tb, _ := newTable("5.3.3")
	mustRegister(t, tb, acting(reg("b", 0, 1, "T1", "T2", memberGroupPrefix+"b")))
	if a := mustRegister(t, tb, acting(reg("b", 1, 1, "T1", "T2"))); a.Change != nil {
		t.Errorf("change %+v", a.Change)
	}
	mustRegister(t, tb, acting(reg("b", 2, 1, "T1", "T2")))
	expect(t, tb, "T1", "b[0=b-0 1=b-1 2=b-2]6")

	gone, _ := tb.Unregister("C", "b", "b-0", 0)
	if c := gone.Change; c == nil || c.Offline.V != "b-0" || c.HA.Set || !slices.Equal(c.Members, []Member{{1, "b-1"}, {2, "b-2"}}) {
		t.Errorf("change %+v", gone.Change)
	}
	expect(t, tb, "T1", "b[0=b-1 2=b-2]4")
	expect(t, tb, memberGroupPrefix+"b", "b[1=b-1 2=b-2]4")
	if d := tb.Route("T1", View{}); d.BrokerDatas[0].BrokerAddrs.Len() != 2 {
		t.Error("supportActingMaster=false")
	} else if _, ok := d.BrokerDatas[0].BrokerAddrs.Get(0); ok {
		t.Error("supportActingMaster=false shows id 0")
	}
	if g := tb.Members("C", "b"); g.BrokerAddrs.Len() != 2 {
		t.Errorf("members %+v", g)
	}

	// The prime slave brings topics, without the write permission; other slaves do not.
	mustRegister(t, tb, acting(reg("b", 2, 2, "T1", "From2")))
	expect(t, tb, "From2", "none")
	mustRegister(t, tb, acting(reg("b", 1, 2, "T1", "From1")))
	expect(t, tb, "From1", "b[0=b-1 2=b-2]4")

	a := mustRegister(t, tb, acting(reg("b", 0, 3, "T1", "T2")))
	if c := a.Change; c == nil || c.Offline.Set || c.HA.V != "b-0-ha" || len(c.Members) != 3 {
		t.Errorf("change %+v", a.Change)
	}
	expect(t, tb, "T1", "b[0=b-0 1=b-1 2=b-2]6")
	if gone, _ := tb.Unregister("C", "b", "b-2", 2); gone.Change != nil {
		t.Errorf("change %+v", gone.Change)
	}
}

func TestRenew(t *testing.T) {
	tb, clock := newTable("5.3.3")
	full := func() *Registration {
		r := acting(reg("b", 0, 1, "T1", "T2"))
		r.Filters = []string{"f:1"}
		r.Print = 7
		return r
	}
	head := func() *Registration { // as it is before the body is decoded
		r := full()
		r.Body = Body{}
		return r
	}
	renews := func(want bool, why string) {
		t.Helper()
		if _, ok := tb.Renew(head()); ok != want {
			t.Errorf("%s: renewed %t", why, ok)
		}
		mustRegister(t, tb, full())
	}
	renews(false, "before the first registration")
	renews(true, "repetition")
	clock.t = clock.t.Add(DefaultTimeout)
	if _, ok := tb.Renew(head()); !ok {
		t.Error("not renewed")
	}
	clock.t = clock.t.Add(DefaultTimeout)
	if gone := tb.Expire(); gone != nil {
		t.Errorf("renewing did not keep alive: %v", gone)
	}
	if d := tb.Route("T1", View{}); d.FilterServerTable.Len() != 1 {
		t.Error("renewing lost the filter servers")
	}
	tb.DeleteTopic("T1")
	renews(false, "a topic was deleted")
	renews(true, "after it came back")
	mustRegister(t, tb, acting(reg("b", 1, 1)))
	renews(false, "a slave came")
	renews(true, "with the slave")
	tb.WipeWrite("b")
	renews(true, "an operator's permission stays")
	for what, change := range map[string]func(*Registration){
		"print": func(r *Registration) { r.Print++ }, "zone": func(r *Registration) { r.Zone = "z" },
		"acting": func(r *Registration) { r.Acting.V = false }, "address": func(r *Registration) { r.Addr = "x" },
		"no print": func(r *Registration) { r.Print = 0 },
	} {
		r := head()
		change(r)
		if _, ok := tb.Renew(r); ok {
			t.Errorf("renewed with another %s", what)
		}
	}
	// A slave that has become the smallest brings its topics, even if its body is an old one.
	slave := acting(reg("b", 1, 1, "T1", "OfSlave"))
	slave.Print = 9
	mustRegister(t, tb, slave)
	tb.Unregister("C", "b", "b-0", 0)
	if _, ok := tb.Renew(slave); ok {
		t.Error("renewed a slave that has become prime")
	}
	mustRegister(t, tb, slave)
	expect(t, tb, "OfSlave", "b[0=b-1]4")
}

func TestLookupSeesEveryChange(t *testing.T) {
	tb, _ := newTable("5.3.3")
	mustRegister(t, tb, reg("b", 0, 1, "T1", "T2"))
	last := ""
	changes := func(what string, f func()) {
		t.Helper()
		f()
		body, _ := tb.Lookup("T1", View{Flavour: Standard, Acting: true})
		if string(body) == last {
			t.Errorf("%s: the old route was shown", what)
		}
		last = string(body)
	}
	register := func(edit func(*Registration)) func() {
		return func() {
			r := reg("b", 0, 1, "T1", "T2")
			edit(r)
			mustRegister(t, tb, r)
		}
	}
	changes("first", func() {})
	changes("slave", func() { mustRegister(t, tb, reg("b", 1, 1)) })
	changes("zone", register(func(r *Registration) { r.Zone = "z" }))
	changes("acting", register(func(r *Registration) { r.Acting = protocol.Some(true) }))
	changes("filters", register(func(r *Registration) { r.Filters = []string{"f:1"} }))
	changes("no filters", register(func(r *Registration) { r.Filters = []string{} }))
	changes("queues", register(func(r *Registration) { r.Version.Counter, r.Topics[0].Read = 9, 99 }))
	changes("mapping", register(func(r *Registration) {
		r.Version.Counter = 10
		r.Mappings = []*protocol.TopicQueueMappingInfo{{Topic: "T1", Bname: "b", Epoch: 5}}
	}))
	changes("address", register(func(r *Registration) { r.Addr = "elsewhere" }))
	changes("other broker", func() { mustRegister(t, tb, reg("a", 0, 1, "T1", "T2")) })
	changes("permission", func() { tb.WipeWrite("a") })
	changes("one topic", func() { tb.AddTopic("T1", []protocol.QueueData{{BrokerName: "a", ReadQueueNums: 1}}) })
	changes("leaving", func() { tb.Unregister("C", "a", "a-0", 0) })
	if body, _ := tb.Lookup("T1", View{Flavour: Standard, Order: "b:4"}); !strings.Contains(string(body), `"orderTopicConf":"b:4"`) {
		t.Errorf("order configuration: %s", body)
	}
}

func TestAddTopic(t *testing.T) {
	tb, _ := newTable("5.3.3")
	mustRegister(t, tb, reg("a", 0, 1, "T1", "T2"))
	mustRegister(t, tb, reg("b", 0, 1, "T2", "T3"))
	q := func(names ...string) (out []protocol.QueueData) {
		for _, n := range names {
			out = append(out, protocol.QueueData{BrokerName: n, ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6})
		}
		return out
	}
	tb.AddTopic("New", q("a", "nobody"))
	expect(t, tb, "New", "none")
	tb.AddTopic("New", q("a", "b"))
	expect(t, tb, "New", "a[0=a-0]6 b[0=b-0]6")
	tb.AddTopic("T1", q("b", "nobody", "a"))
	expect(t, tb, "T1", "a[0=a-0]6 b[0=b-0]6")
	tb.AddTopic("Empty", nil)
	if slices.Contains(tb.Topics(), "Empty") {
		t.Error("a topic without queues")
	}
}

func TestLists(t *testing.T) {
	tb, _ := newTable("5.3.3")
	if names, addr := tb.SystemTopics(); len(names) != 0 || addr != "" {
		t.Errorf("system topics of nothing: %v %s", names, addr)
	}
	r := reg("b", 0, 1, "Plain", "Unit", "UnitSub")
	r.Topics[1].SysFlag, r.Topics[2].SysFlag = FlagUnit, FlagUnitSub
	mustRegister(t, tb, r)
	if names, addr := tb.SystemTopics(); !slices.Equal(names, []string{"C", "b"}) || addr != "b-0" {
		t.Errorf("system topics %v %s", names, addr)
	}
	if got := tb.TopicsOfCluster("C"); len(got) != 3 {
		t.Errorf("topics of the cluster: %v", got)
	}
	if got := tb.TopicsOfCluster("none"); got == nil || len(got) != 0 {
		t.Errorf("topics of no cluster: %v", got)
	}
	if got := tb.TopicsWithFlag(func(f int32) bool { return f&FlagUnit != 0 }); !slices.Equal(got, []string{"Unit"}) {
		t.Errorf("unit topics: %v", got)
	}
}

// A registration may be a view into a buffer that is used again.
func TestNothingOfARegistrationIsKept(t *testing.T) {
	tb, _ := newTable("5.3.3")
	buf := []byte("CbAHzT1T2F")
	at := func(i, n int) string { return unsafeString(buf[i : i+n]) }
	r := &Registration{Cluster: at(0, 1), Name: at(1, 1), Addr: at(2, 1), HAAddr: at(3, 1), Zone: at(4, 1), Body: Body{
		Topics: []TopicQueues{{at(5, 2), Queues{Perm: 6}}, {at(7, 2), Queues{Perm: 6}}}, Filters: []string{at(9, 1)},
	}}
	mustRegister(t, tb, r)
	slave := &Registration{Cluster: "C", Name: "b", Addr: "S", ID: 1}
	before := fmt.Sprint(tb.Topics(), mustRegister(t, tb, slave), show(tb, "T1"), tb.Clusters().BrokerAddrTable)
	for i := range buf {
		buf[i] = 'X'
	}
	slave.Print = 0
	if after := fmt.Sprint(tb.Topics(), mustRegister(t, tb, slave), show(tb, "T1"), tb.Clusters().BrokerAddrTable); !strings.Contains(after, "T1") || strings.Contains(after, "X") {
		t.Errorf("before %s\nafter  %s", before, after)
	}
	gone, _ := tb.Unregister("C", "b", "A", 0)
	if gone.Name != "b" || tb.Heartbeat("C", "A") {
		t.Errorf("%+v", gone)
	}
}
