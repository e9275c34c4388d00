package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// An Asker asks queries of a server.
type Asker struct {
	Addr   string
	client http.Client
}

// An Answer is what a query has found, as Loki's API says it.
type Answer struct {
	Took time.Duration // until all of it was read
	Data struct {
		Type   string `json:"resultType"`
		Result []struct {
			Labels map[string]string `json:"metric"`
			Stream map[string]string `json:"stream"`
			Value  [2]any            `json:"value"`
			Values [][2]any          `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

// Lines returns how many lines, or points, the answer has.
func (a *Answer) Lines() (n int) {
	for i := range a.Data.Result {
		n += len(a.Data.Result[i].Values)
	}
	return n
}

// Value returns the sum of the values of a vector.
func (a *Answer) Value() (sum float64) {
	for i := range a.Data.Result {
		if text, ok := a.Data.Result[i].Value[1].(string); ok {
			v, _ := strconv.ParseFloat(text, 64) // the server's
			sum += v
		}
	}
	return sum
}

// Sum returns the sum of all points of a matrix.
func (a *Answer) Sum() (sum float64) {
	for i := range a.Data.Result {
		for _, p := range a.Data.Result[i].Values {
			if text, ok := p[1].(string); ok {
				v, _ := strconv.ParseFloat(text, 64) // the server's
				sum += v
			}
		}
	}
	return sum
}

// Ask asks an endpoint of /loki/api/v1 with parameters: names and values.
func (a *Asker) Ask(ctx context.Context, endpoint string, params ...string) (*Answer, error) {
	values := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+a.Addr+"/loki/api/v1/"+endpoint+"?"+values.Encode(), nil)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	res, err := a.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("serve: %s of %q was answered with %s: %.300s", endpoint, values.Get("query"), res.Status, text)
	}
	answer := Answer{Took: time.Since(begun)}
	return &answer, json.Unmarshal(text, &answer)
}
