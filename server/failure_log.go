package server

import (
	"log/slog"
	"sync"
	"time"
)

// A failureLog logs answers of 500 and above: of each status a few in a period, as clients
// send again at once what has failed, and a disk that is full would be filled by the log.
type failureLog struct {
	logger *slog.Logger

	mu       sync.Mutex
	statuses [100]failureCount // from 500 on
}

// A failureCount counts the answers of a status in a period.
type failureCount struct {
	since time.Time
	n     int
}

const (
	failurePeriod = 10 * time.Second
	failuresEach  = 5 // that are logged in a period
)

// admit reports whether an answer is logged, and how many were not in the period before.
func (l *failureLog) admit(status int, now time.Time) (ok bool, left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.statuses[min(max(status-500, 0), len(l.statuses)-1)]
	if now.Sub(c.since) >= failurePeriod {
		left = max(c.n-failuresEach, 0)
		*c = failureCount{since: now}
	}
	c.n++
	return c.n <= failuresEach, left
}

// log logs an answer with a status.
func (l *failureLog) log(text string, status int, args ...any) {
	ok, left := l.admit(status, time.Now())
	if !ok {
		return
	}
	args = append(args, "status", status)
	if left > 0 {
		args = append(args, "not_logged_before", left)
	}
	l.logger.Error(text, args...)
}
