package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/lokipush"
)

// maxListed bounds how many refused entries an answer lists.
const maxListed = 32

// rejection returns the error of a push of which some was refused: 400 with a list, worded
// so that those who read Loki's find their way. All else has been kept. It is nil if
// nothing was refused.
//
// It is 400 and not 429 for a stream too many, too: a client sends that again, and what was
// refused of a batch is known then.
func (u *pusher) rejection(p *push, d *lokipush.Decoder, rejected *logstore.RejectedError) *statusError {
	early := d.Refused()
	if len(early.List) == 0 && rejected == nil {
		return nil
	}
	u.m.reject(reasonLabels, max(early.Within, min(early.Streams, 1)))
	u.m.reject(reasonLimit, early.Single)
	l := refusedList{total: early.Entries(), unlisted: early.Entries()}
	for _, r := range early.List {
		l.add(r.Time, r.Entries, r.Labels, r.Err)
	}
	if rejected != nil {
		u.addRejected(&l, p, d, rejected)
	}
	return &statusError{status: http.StatusBadRequest, text: l.text(d.Entries()), refused: max(l.total, 1)}
}

// addRejected adds what the store has refused, without those that it was given in the place of
// entries that were refused before.
func (u *pusher) addRejected(l *refusedList, p *push, d *lokipush.Decoder, rejected *logstore.RejectedError) {
	batch := d.Batch()
	real := rejected.More
	for _, r := range rejected.Rejected {
		if r.Time == lokipush.RefusedTime {
			continue
		}
		real++
	}
	if rejected.More > 0 {
		listed := len(rejected.Rejected) - (real - rejected.More)
		real -= d.RefusedFrom(p.given.Known) - listed
	}
	l.total, l.unlisted = l.total+real, l.unlisted+real
	for _, r := range rejected.Rejected {
		if r.Time == lokipush.RefusedTime {
			continue
		}
		u.m.reject(reasonOf(r.Err()), 1)
		l.add(r.Time, 1, batch[r.Stream].Labels.String(), r.Err())
		real--
	}
	u.m.reject(reasonOther, real)
}

// A refusedList is the text of what was refused.
type refusedList struct {
	b        strings.Builder
	n        int // listed
	total    int // entries that were refused
	unlisted int // of those
}

func (l *refusedList) add(at int64, entries int, labels string, err error) {
	if l.n == maxListed {
		return
	}
	l.n++
	l.unlisted -= entries
	stamp := time.Unix(0, at).UTC().Format("2006-01-02 15:04:05.999999999 -0700 MST")
	if entries == 1 {
		fmt.Fprintf(&l.b, "entry with timestamp %s ignored, reason: '%v', for stream: %s\n", stamp, err, labels)
	} else {
		fmt.Fprintf(&l.b, "%d entries from timestamp %s on ignored, reason: '%v', for stream: %s\n", entries, stamp, err, labels)
	}
}

func (l *refusedList) text(entries int) string {
	if l.unlisted > 0 {
		fmt.Fprintf(&l.b, "and %d more\n", l.unlisted)
	}
	fmt.Fprintf(&l.b, "total ignored: %d out of %d; all others are kept", l.total, entries)
	return l.b.String()
}

// A reason is why an entry was refused, for metrics.
type reason int

const (
	reasonLabels reason = iota
	reasonLimit
	reasonTooOld
	reasonExpired
	reasonFuture
	reasonTooLong
	reasonStreams
	reasonOther
	reasons
)

func (r reason) String() string {
	return [...]string{"labels", "limit", "too_old", "expired", "future", "too_long", "too_many_streams", "other"}[r]
}

func reasonOf(err error) reason {
	for r, is := range map[reason]error{
		reasonTooOld: logstore.ErrTooOld, reasonExpired: logstore.ErrExpired, reasonFuture: logstore.ErrFuture, reasonTooLong: logstore.ErrTooLong,
		reasonStreams: logstore.ErrTooManyStreams, reasonLabels: logstore.ErrLabels,
	} {
		if errors.Is(err, is) {
			return r
		}
	}
	return reasonOther
}
