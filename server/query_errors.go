package server

import (
	"errors"
	"net/http"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/server/internal/params"
)

// refusedQuery returns the answer to a query or a parameter that is wrong by itself: asking
// again is of no use. ok is false for other errors.
func refusedQuery(err error) (text string, ok bool) {
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		text = e.Error()
		if place := e.Caret(); place != "" {
			text += "\n" + place
		}
		return text, true
	}
	if e, ok := errors.AsType[*params.Error](err); ok {
		return e.Error(), true
	}
	if e, ok := errors.AsType[*logql.PipelineError](err); ok {
		return e.Error(), true
	}
	_, limit := errors.AsType[*logql.LimitError](err)
	_, unsupported := errors.AsType[*logql.UnsupportedError](err)
	_, request := errors.AsType[*logql.RequestError](err)
	_, evaluation := errors.AsType[*logql.EvaluationError](err)
	return err.Error(), limit || unsupported || request || evaluation || errors.Is(err, params.ErrForm)
}

// parse reads a query. Its errors are answered with 400.
func parse(query string) (syntax.Expr, error) {
	expr, err := syntax.Parse(query)
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, e.In(query)
	}
	return expr, err
}

// parseLog reads a query that must select lines.
func parseLog(query string) (*syntax.LogExpr, error) {
	expr, err := parse(query)
	if err != nil {
		return nil, err
	}
	log, ok := expr.(*syntax.LogExpr)
	if !ok {
		return nil, refuse(http.StatusBadRequest, "only log selector is supported") // as Loki words it
	}
	return log, nil
}
