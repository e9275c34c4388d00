package server

import (
	"time"

	"github.com/stele-go/stele/logql"
)

// A reply is the answer to a query before it is sent.
type reply struct {
	bytes int64 // that it takes until it has been sent, about
	write func(*body)
}

// What the parts of a result take, beside their texts.
const (
	textBytes  = 16
	pointBytes = 16
	fieldBytes = 200
)

// replyOf is the reply to a query with a result. nil, beside an error, is none.
func replyOf(r *logql.Result, queued time.Duration, categorized bool) reply {
	if r == nil {
		return reply{}
	}
	r.Stats.Queued += queued
	bytes := int64(0)
	for i := range r.Lines {
		bytes += int64(len(r.Lines[i].Text)) + lineBytes
	}
	for _, series := range r.Series {
		bytes += labelsBytes(series.Labels) + pointBytes*int64(len(series.Points))
	}
	return reply{bytes, func(b *body) { writeResult(b.Writer, r, categorized) }}
}

func textsBytes(list []string) (n int64) {
	for _, text := range list {
		n += int64(len(text)) + textBytes
	}
	return n
}

func labelsBytes(labels []logql.LabelPair) (n int64) {
	for _, l := range labels {
		n += int64(len(l.Name)+len(l.Value)) + 2*textBytes
	}
	return n
}
