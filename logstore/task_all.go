package logstore

import (
	"context"
	"errors"

	"github.com/stele-go/stele/internal/setting"
)

// scanAll gives all that q selects to a task, in no order. partial joins the
// errors of entries that could not be read.
func (s *Store) scanAll(ctx context.Context, q Query, begin func(*search) task) (partial, err error) {
	if q.After != (Cursor{}) {
		return nil, setting.Wrong("logstore: Query.After", q.After, "the zero Cursor, but for what Series and LabelValues say")
	}
	q.Cursors = q.Cursors && q.folds
	x, err := s.search(ctx, q)
	if err != nil {
		return nil, err
	}
	defer x.tell(q.Stats)
	w := newScan(x, begin(x))
	defer w.close()
	if err := w.begin(); err != nil {
		return nil, err
	}
	if err := newConsumer(w, nil).drain(); err != nil {
		return nil, err
	}
	bad := w.takeDamage()
	if x.view.partial != nil {
		bad = append(bad, x.view.partial)
	}
	return errors.Join(bad...), nil
}
