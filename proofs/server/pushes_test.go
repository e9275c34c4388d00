package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
	"github.com/stele-go/stele/server"
)

// The proof of package server: a push that was answered with 204 is there after any crash,
// whole and once, however often the client has sent it; any other push is there whole or not
// at all, and once it is sent again, once.

// A pushNote is an entry of the ledger: the ID of a push that may be there from now on, or
// that is there.
type pushNote struct{ Begun, Acked string }

// A pushed is a push, which its ID determines.
type pushed struct {
	id, tenant, contentType string
	body                    []byte
	lines                   int
}

// pushOf returns the push of an ID: JSON or protobuf, small or large, of one of three tenants.
func pushOf(id string) pushed {
	h := fnv.New32a()
	h.Write([]byte(id))
	sum := int(h.Sum32() >> 1)
	p := pushed{id: id, tenant: []string{"a", "b", "c"}[sum%3], lines: 1 + sum/3%4}
	most := 100
	if sum/16%4 == 0 {
		most = 20_000 // more than a connection's buffer
	}
	var lines []string
	for n := range p.lines {
		lines = append(lines, fmt.Sprintf("%s|%d|%s", id, n, strings.Repeat(clientOf(id), (sum+n*7919)%most)))
	}
	if sum/64%2 == 0 {
		p.contentType, p.body = "application/json", jsonOf(id, lines)
	} else {
		p.contentType, p.body = "application/x-protobuf", protobufOf(id, lines)
	}
	return p
}

// clientOf returns the client of an ID, as two letters.
func clientOf(id string) string { return (id + "??")[:2] }

func jsonOf(id string, lines []string) []byte {
	var values []string
	for _, l := range lines { // equal times
		values = append(values, fmt.Sprintf(`["1767600000000000000",%q]`, l))
	}
	return fmt.Appendf(nil, `{"streams":[{"stream":{"app":"proof","g":%q},"values":[%s]}]}`, clientOf(id), strings.Join(values, ","))
}

func protobufOf(id string, lines []string) []byte {
	field := func(b []byte, n int, v []byte) []byte {
		return append(binary.AppendUvarint(binary.AppendUvarint(b, uint64(n)<<3|2), uint64(len(v))), v...)
	}
	stream := field(nil, 1, fmt.Appendf(nil, `{app="proof", g=%q}`, clientOf(id)))
	stamp := binary.AppendUvarint([]byte{1 << 3}, 1_767_600_000)
	for _, l := range lines {
		stream = field(stream, 2, field(field(nil, 1, stamp), 2, []byte(l)))
	}
	return snappy.Encode(nil, field(nil, 1, stream))
}

func (p pushed) request(host string) *http.Request {
	r := httptest.NewRequest("POST", "http://"+host+"/loki/api/v1/push", bytes.NewReader(p.body))
	r.Header.Set("Content-Type", p.contentType)
	r.Header.Set("X-Scope-OrgID", p.tenant)
	return r
}

// openServer opens the store in dir, and a server over it.
func openServer(dir string, level durability.Level) (*logstore.Store, *server.Server, error) {
	profile, err := filepath.Abs("testdata/fdatasync.json")
	if err != nil {
		return nil, nil, err
	}
	o := logstore.Options{Level: level, LateWindow: -1, Memory: 32 << 20, MinFree: 1, Workers: 2, BackgroundRate: -1, Profile: profile, KeyWindow: 24 * time.Hour}
	var store *logstore.Store
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		// The lock of one that was just closed is held a moment longer by a process that is
		// being started elsewhere in this one.
		store, err = logstore.Open(dir, o)
		if !errors.Is(err, logstore.ErrLocked) || time.Since(begun) > 2*time.Minute {
			break
		}
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := server.New(store, server.Options{Tenants: true})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, s, nil
}

// A pushLoad is clients that push to a server.
type pushLoad struct {
	level          durability.Level
	clients, count int // pushes of each client
}

// run is the work of a proof.
func (l pushLoad) run(dir string, ack func(pushNote)) error {
	store, s, err := openServer(filepath.Join(dir, "store"), l.level)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, store.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	err = prove.Parallel(l.clients, func(g int) error {
		c := pushClient{addr: ln.Addr().String()}
		defer c.close()
		for i := range l.count {
			id := fmt.Sprintf("%c%c-%d-%d", 'a'+g%26, 'a'+g/26, i, time.Now().UnixNano())
			ack(pushNote{Begun: id})
			if err := c.push(pushOf(id), i%3); err != nil {
				return err
			}
			ack(pushNote{Acked: id})
			if g == 0 && i%8 == 7 {
				if err := store.Seal(context.Background()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(err, s.Shutdown(ctx), <-served, store.Close())
}

// A pushClient is a connection that a client makes anew when it has lost it.
type pushClient struct {
	addr string
	conn net.Conn
	r    *bufio.Reader
}

func (c *pushClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// push sends a push until it is answered. Before that it sends it lost times and hangs up: an
// agent whose network fails knows nothing of those.
func (c *pushClient) push(p pushed, lost int) error {
	for range lost {
		if err := c.send(p); err != nil {
			return err
		}
		c.close()
	}
	for range 2 { // the second one is known
		if err := c.send(p); err != nil {
			return err
		}
		res, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusNoContent {
			return fmt.Errorf("the push %s was answered with %s: %s %w", p.id, res.Status, text, err)
		}
	}
	return nil
}

func (c *pushClient) send(p pushed) (err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.addr); err != nil {
			return err
		}
		c.r = bufio.NewReader(c.conn)
	}
	return p.request(c.addr).Write(c.conn)
}

// check checks what a crash has left, sends all pushes again as clients do that have got no
// answer, and checks that each is there once.
func check(dir string, ledger []pushNote) error {
	store, s, err := openServer(filepath.Join(dir, "store"), durability.Power)
	if err != nil { // as behind a disk that kept a segment and not the log before it
		return fmt.Errorf("open: %w: %w", prove.ErrLost, err)
	}
	<-store.Ready()
	err = compare(store, ledger, false)
	for _, n := range ledger {
		if err != nil {
			break
		}
		if n.Begun != "" {
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, pushOf(n.Begun).request("127.0.0.1")); w.Code != http.StatusNoContent {
				err = fmt.Errorf("after the crash, the push %s was answered with %d: %s", n.Begun, w.Code, w.Body)
			}
		}
	}
	if err == nil {
		err = compare(store, ledger, true)
	}
	return errors.Join(err, s.Shutdown(context.Background()), store.Close())
}

// compare compares what is in the store with the ledger: all that was begun, or else all
// that was answered, is there once.
func compare(store *logstore.Store, ledger []pushNote, all bool) error {
	begun := map[string]bool{}
	for _, n := range ledger {
		if n.Begun != "" {
			begun[n.Begun] = true
		}
	}
	found, err := linesOf(store)
	if err != nil {
		return err
	}
	for id, lines := range found {
		if !begun[id] {
			return fmt.Errorf("%s is there, and was never pushed: %w", id, prove.ErrLost)
		}
		if want := pushOf(id).lines; lines != want {
			return fmt.Errorf("%s has %d lines, not %d: %w", id, lines, want, prove.ErrLost)
		}
	}
	for _, n := range ledger {
		if id := n.Acked; id != "" && found[id] == 0 {
			return fmt.Errorf("%s: %w", id, prove.ErrLost)
		}
		if id := n.Begun; all && id != "" && found[id] == 0 {
			return fmt.Errorf("%s was sent again after the crash, and is not there: %w", id, prove.ErrLost)
		}
	}
	return nil
}

// linesOf returns how many lines each push has. Each line must be one of the push, of its
// tenant, and there once.
func linesOf(store *logstore.Store) (map[string]int, error) {
	found, seen := map[string]int{}, map[string]bool{}
	for _, tenant := range []string{"", "a", "b", "c"} {
		for r, err := range store.Query(context.Background(), logstore.Query{Tenant: tenant}) {
			if err != nil {
				return nil, err
			}
			id, rest, _ := strings.Cut(string(r.Line), "|")
			number, _, _ := strings.Cut(rest, "|")
			n, err := strconv.Atoi(number)
			if p := pushOf(id); err != nil || n >= p.lines || p.tenant != tenant {
				return nil, fmt.Errorf("the tenant %q has %.60q, which was never pushed: %w", tenant, r.Line, prove.ErrLost)
			}
			if key := id + "|" + number; seen[key] {
				return nil, fmt.Errorf("%.60q is there twice: %w", r.Line, prove.ErrLost)
			} else {
				seen[key] = true
			}
			found[id]++
		}
	}
	return found, nil
}
