package peers

import (
	"slices"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
)

// Names of the peers of package wal.
const (
	etcdEach    = "etcd wal.Save"
	etcdBatch   = "etcd wal.Save, batched"
	raftEach    = "raft-wal StoreLogs"
	raftBatch   = "raft-wal StoreLogs, batched"
	pebbleFresh = "pebble LogWriter"
	pebbleReuse = "pebble LogWriter, recycled file"
	tidwallEach = "tidwall/wal Write"
	tidwallMany = "tidwall/wal WriteBatch, batched"
)

// walWays are the peers of package wal. All sync a record before they acknowledge it.
//
// The logs of etcd, HashiCorp and tidwall want records numbered in order, and so one
// caller at a time: a mutex here. Their users, consensus libraries for the first two,
// pass them many records in one call; so each is there a second time, behind a goroutine
// that appends all waiting records in one call. pebble's writer batches by itself.
func walWays() []wals.Way {
	return []wals.Way{
		walWay(etcdEach, "one call a record, under a mutex; segments of 64 MB are preallocated", durability.Prefix, each(openEtcd)),
		walWay(etcdBatch, "one call for all that wait, as its raft does", durability.Prefix, batched(openEtcd)),
		walWay(raftEach, "one call a record, under a mutex; segments of 64 MiB are preallocated", durability.Prefix, each(openRaft)),
		walWay(raftBatch, "one call for all that wait, as its raft does", durability.Prefix, batched(openRaft)),
		walWay(pebbleFresh, "SyncRecord, its own flush loop and queue; a new file, preallocated as pebble does by default", durability.Prefix, openPebble(false)),
		walWay(pebbleReuse, "the same into a file that was written before, as pebble does after some minutes", durability.Prefix, openPebble(true)),
		// Records have no checksum, a log with a torn tail is not opened, and
		// the directory is never synced.
		walWay(tidwallEach, "NoSync off, one call a record", durability.Torn, each(openTidwall)),
		walWay(tidwallMany, "NoSync off, one call for all that wait", durability.Torn, batched(openTidwall)),
	}
}

type openLog func(at job.Site) (wals.Log, error)

func walWay(name, doc string, after durability.After, open openLog) wals.Way {
	return wals.Way{Name: name, Doc: doc, Promise: job.Promise(durability.Power, after), Open: open}
}

// BesidePeers returns experiments in which a peer is the baseline of wal.Append, for
// those of suite wal with the same job: the ratio of the report is that of the two.
// tidwall/wal promises less, so the lab compares with it only if comparisons across
// promises are asked for.
func BesidePeers() []lab.Experiment {
	var list []lab.Experiment
	for _, j := range wals.Jobs() {
		if j.Params["size"] != "1024" {
			continue
		}
		e := j.Build()
		lone := e.Params["appenders"] == "1"
		for _, p := range []struct{ name, lone, many string }{
			{"beside-etcd", etcdEach, etcdBatch},
			{"beside-raft-wal", raftEach, raftBatch},
			{"beside-pebble", pebbleReuse, pebbleReuse},
			{"beside-tidwall", tidwallEach, tidwallMany},
		} {
			beside := j.Experiment
			beside.Name = p.name
			beside.Question = "Is wal.Append faster than this peer is at its best?"
			best := p.many
			if lone {
				best = p.lone
			}
			for _, w := range walWays() {
				if w.Name == best {
					w.Baseline = true
					beside.Variants = append(beside.Variants, j.Variant(w))
				}
			}
			own := slices.IndexFunc(e.Variants, func(v lab.Variant) bool { return v.Name == "wal.Append" })
			if len(beside.Variants) == 0 || own < 0 {
				continue
			}
			beside.Variants = append(beside.Variants, e.Variants[own])
			list = append(list, beside)
		}
	}
	return list
}

// A saver appends records in one call, and returns when they are synced.
type saver struct {
	save  func(recs [][]byte) error
	close func() error
}

// each calls save for each record, one caller at a time.
func each(open func(dir string) (saver, error)) openLog {
	return func(at job.Site) (wals.Log, error) {
		s, err := open(at.Dir)
		if err != nil {
			return wals.Log{}, err
		}
		turn := make(chan [][]byte, 1)
		turn <- make([][]byte, 1)
		return wals.Log{
			Append: func(rec []byte) error {
				one := <-turn
				one[0] = rec
				err := s.save(one)
				turn <- one
				return err
			},
			Close: s.close,
		}, nil
	}
}

// batchRecords is how many records one call takes at most.
const batchRecords = 1024

type batchRequest struct {
	rec  []byte
	done chan error
}

// batched calls save for all records that wait.
func batched(open func(dir string) (saver, error)) openLog {
	return func(at job.Site) (wals.Log, error) {
		s, err := open(at.Dir)
		if err != nil {
			return wals.Log{}, err
		}
		requests := make(chan batchRequest, batchRecords)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			saveAll(s.save, requests)
		}()
		answers := make(chan chan error, 1<<16) // of appends that are over
		return wals.Log{
			Append: func(rec []byte) error {
				var r batchRequest
				select {
				case done := <-answers:
					r = batchRequest{rec, done}
				default:
					r = batchRequest{rec, make(chan error, 1)}
				}
				requests <- r
				err := <-r.done
				select {
				case answers <- r.done:
				default:
				}
				return err
			},
			Close: func() error {
				close(requests)
				<-ended
				return s.close()
			},
		}, nil
	}
}

func saveAll(save func(recs [][]byte) error, requests <-chan batchRequest) {
	var waiting []batchRequest
	var recs [][]byte
	for r := range requests {
		waiting, recs = append(waiting[:0], r), append(recs[:0], r.rec)
		for len(waiting) < batchRecords && len(requests) > 0 {
			r := <-requests // only this goroutine receives from it
			waiting, recs = append(waiting, r), append(recs, r.rec)
		}
		err := save(recs)
		for _, r := range waiting {
			r.done <- err
		}
	}
}

// indexes returns the indexes of the first and the last record of a log.
func indexes(l interface {
	FirstIndex() (uint64, error)
	LastIndex() (uint64, error)
}) (first, last uint64, err error) {
	if first, err = l.FirstIndex(); err == nil {
		last, err = l.LastIndex()
	}
	return first, last, err
}
