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
func (u *pusher) rejection(p *push, d *lokipush.Decoder, rejected *logstore.RejectedError) error {
	early, more := d.Refused()
	if len(early) == 0 && rejected == nil {
		return nil
	}
	l := refusedList{more: more}
	for _, r := range early {
		l.early += r.Entries
		if errors.Is(r.Err, logstore.ErrLabels) || r.Entries == 0 {
			u.m.reject(reasonLabels, max(r.Entries, 1))
		} else {
			u.m.reject(reasonLimit, r.Entries)
		}
		l.add(r.Time, r.Entries, r.Labels, r.Err)
	}
	if rejected != nil {
		batch := d.Batch()
		for _, r := range rejected.Rejected {
			u.m.reject(reasonOf(r.Err()), 1)
			l.add(r.Time, 1, batch[r.Stream].Labels.String(), r.Err())
		}
		u.m.reject(reasonOther, rejected.More)
		l.total, l.more = l.total+rejected.More, l.more+rejected.More
	}
	return &statusError{status: http.StatusBadRequest, text: l.text(d.Entries() + l.early), refused: max(l.total, 1)}
}

// A refusedList is the text of what was refused.
type refusedList struct {
	b           strings.Builder
	n           int // listed
	total, more int
	early       int // entries that the store has not seen
}

func (l *refusedList) add(at int64, entries int, labels string, err error) {
	l.total += entries
	if l.n == maxListed {
		l.more++
		return
	}
	l.n++
	stamp := time.Unix(0, at).UTC().Format("2006-01-02 15:04:05.999999999 -0700 MST")
	if entries == 1 {
		fmt.Fprintf(&l.b, "entry with timestamp %s ignored, reason: '%v', for stream: %s\n", stamp, err, labels)
	} else {
		fmt.Fprintf(&l.b, "%d entries from timestamp %s on ignored, reason: '%v', for stream: %s\n", entries, stamp, err, labels)
	}
}

func (l *refusedList) text(entries int) string {
	if l.more > 0 {
		fmt.Fprintf(&l.b, "and %d more\n", l.more)
	}
	fmt.Fprintf(&l.b, "total ignored: %d out of %d; all others are kept", l.total, max(entries, l.total))
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
