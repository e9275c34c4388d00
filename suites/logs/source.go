package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
)

// The environment variables of a Source. A block gets them from its experiment.
const (
	CorpusEnv  = "STELE_CORPUS"
	StreamsEnv = "STELE_STREAMS"
)

const (
	// defaultStreams is about how many streams the lines have by default.
	defaultStreams = 400
	maxStreams     = 10_000_000
)

// A Source says what log lines are made from. The zero value is the default: they are
// generated, in some 400 streams.
type Source struct {
	// Corpus is the directory of real logs, files *.log. Without it lines are generated.
	Corpus string
	// Streams is how many streams the lines have. 0 and 400 mean some 400, of which a
	// few have most of the lines. Any other number is exact, and each stream has one
	// line in turn; lines must be generated then.
	Streams int
}

// SourceFromEnv returns the source that the environment names.
func SourceFromEnv() (Source, error) {
	s := Source{Corpus: os.Getenv(CorpusEnv)}
	text := os.Getenv(StreamsEnv)
	if text == "" {
		return s, nil
	}
	var err error
	if s.Streams, err = strconv.Atoi(text); err != nil {
		return s, setting.Wrong(StreamsEnv, strconv.Quote(text), "an integer")
	}
	return s, nil
}

// Check returns an error if no lines can be made from s. It does not read the corpus.
func (s Source) Check() error {
	if s.Streams < 0 || s.Streams > maxStreams {
		return setting.Wrong("streams", s.Streams, "0 (some %d), or 1 to %d", defaultStreams, maxStreams)
	}
	if s.many() && s.Corpus != "" {
		return setting.Wrong("streams", s.Streams, "0 or %d with a corpus, whose lines decide on their streams", defaultStreams)
	}
	return nil
}

// many reports whether the number of streams is exact.
func (s Source) many() bool { return s.Streams != 0 && s.Streams != defaultStreams }

// howMany returns the number of streams in words.
func (s Source) howMany() string {
	if s.many() {
		return strconv.Itoa(s.Streams)
	}
	return fmt.Sprint("some ", defaultStreams)
}

// Mark makes the source a part of the identity of an experiment whose blocks read its lines,
// unless it is the default. e.Params must not be nil.
func (s Source) Mark(e *lab.Experiment) {
	e.Env = s.env()
	if s.Corpus != "" {
		e.Params["corpus"] = filepath.Base(s.Corpus)
	}
	if s.many() {
		e.Params["streams"] = strconv.Itoa(s.Streams)
	}
}

// env returns the environment of a block.
func (s Source) env() (env []string) {
	if s.Corpus != "" {
		env = append(env, CorpusEnv+"="+s.Corpus)
	}
	if s.many() {
		env = append(env, StreamsEnv+"="+strconv.Itoa(s.Streams))
	}
	return env
}
