package logstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The check fails if entries are lost, made up, or missing in a query.
func TestCheckBites(t *testing.T) {
	dir := t.TempDir()
	var ledger []logNote
	s, err := openStore(dir, logOptions(durability.Kill), func(n logNote) { ledger = append(ledger, n) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := s.append("tiny", 0, i); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readStore(s.Store)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.compare(ledger), s.Close()); err != nil {
		t.Fatal(err)
	}
	missing := logID("tiny", 0, 77, time.Now())
	for name, wrong := range map[string]func() []logNote{
		"lost":     func() []logNote { return append(slices.Clip(ledger), logNote{Begun: missing}, logNote{Acked: missing}) },
		"made up":  func() []logNote { return ledger[2:] },
		"by query": func() []logNote { return append(slices.Clip(ledger), logNote{Wrong: "something"}) },
	} {
		if err := c.compare(wrong()); !errors.Is(err, prove.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for id := range c.of {
		c.of[id] = c.of[id][1:]
		break
	}
	if err := c.compare(ledger); !errors.Is(err, prove.ErrLost) {
		t.Errorf("half a batch: %v", err)
	}
}

// The check fails if a batch, or a stream, is another tenant's, and if a deletion meets the
// wrong one.
func TestCheckTenantsBites(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		do   func(s *storeUse) error
		want string
	}{
		{"a batch of another tenant", func(s *storeUse) error {
			id := logID("tiny", 0, 1, time.Now())
			s.ack(logNote{Begun: id})
			_, err := s.AppendWith(ctx, logBatch(id), logstore.AppendOptions{Tenant: "another"})
			return err
		}, `the tenant "another" has`},
		{"a batch of a tenant that has none", func(s *storeUse) error {
			id := logID("tiny", 0, 1, time.Now())
			s.ack(logNote{Begun: id})
			_, err := s.AppendWith(ctx, logBatch(id), logstore.AppendOptions{Tenant: nobody})
			return err
		}, `the tenant "nobody" has`},
		{"a deletion of another tenant's", func(s *storeUse) error {
			return errors.Join(s.erase(0), eraseAsOf(s, 1, "another"))
		}, "the deleted entries"},
		{"a deletion of all tenants'", func(s *storeUse) error {
			return eraseAsOf(s, 0, logTenants...)
		}, "kept-96-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ledger []logNote
			s, err := openStore(t.TempDir(), logOptions(durability.Kill), func(n logNote) { ledger = append(ledger, n) })
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := c.do(s); err != nil {
				t.Fatal(err)
			}
			got, err := readStore(s.Store)
			if err == nil {
				err = got.compare(ledger)
			}
			if !errors.Is(err, prove.ErrLost) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// eraseAsOf appends what erase does, and then deletes as if these tenants had the batch.
func eraseAsOf(s *storeUse, round int, tenants ...string) error {
	if err := s.append("kept", 96, round); err != nil {
		return err
	}
	id := logID("erased", 96, round, time.Now())
	s.ack(logNote{Begun: id})
	if _, err := s.AppendWith(context.Background(), logBatch(id), logNames(id)); err != nil {
		return err
	}
	s.ack(logNote{Erasing: id})
	for _, tenant := range tenants {
		d := deletionOf(id)
		d.Tenant = tenant
		if _, err := s.Delete(context.Background(), d); err != nil {
			return err
		}
	}
	s.ack(logNote{Erased: id})
	return nil
}

// A batch that was deleted stays known by its key when its segment is gone: a retry, which
// the check does too, keeps nothing.
func TestRetryAfterDeletedSegment(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	var ledger []logNote
	s, err := openStore(dir, logOptions(durability.Kill), func(n logNote) { ledger = append(ledger, n) })
	if err != nil {
		t.Fatal(err)
	}
	id := logID("erased", 96, 0, time.Now())
	b := logBatch(id)
	s.ack(logNote{Begun: id})
	if _, err := s.AppendWith(ctx, b, logNames(id)); err != nil {
		t.Fatal(err)
	}
	s.ack(logNote{Acked: id})
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	s.ack(logNote{Erasing: id})
	if _, err := s.Delete(ctx, deletionOf(id)); err != nil {
		t.Fatal(err)
	}
	s.ack(logNote{Erased: id})
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Segments; n != 0 {
		t.Fatalf("%d segments are left", n)
	}
	if retried := toRetry(ledger); !slices.Contains(retried, id) {
		t.Errorf("%v does not have the deleted batch", retried)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkStore(dir, ledger); err != nil {
		t.Error(err)
	}
	again, err := openAgain(dir, logOptions(durability.Kill))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	<-again.Ready()
	a, err := again.AppendWith(ctx, b, logNames(id))
	if err != nil || a.Kept != 0 || a.Known != entriesOf(b) {
		t.Errorf("the retry of a deleted batch: %+v, %v; want %d known entries", a, err, entriesOf(b))
	}
}
