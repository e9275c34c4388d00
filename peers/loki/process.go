package loki

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A Process is a running Loki that has one tenant, and its files in a directory.
type Process struct {
	URL    string
	cmd    *exec.Cmd
	exited chan struct{}
	output *os.File
}

const config = `auth_enabled: false
server: {http_listen_address: 127.0.0.1, http_listen_port: HTTP, grpc_listen_address: 127.0.0.1, grpc_listen_port: GRPC, log_level: warn}
common:
  instance_addr: 127.0.0.1
  path_prefix: DIR
  replication_factor: 1
  ring: {kvstore: {store: inmemory}}
  storage: {filesystem: {chunks_directory: DIR/chunks, rules_directory: DIR/rules}}
frontend: {address: 127.0.0.1}
querier: {query_ingesters_within: 0}
query_range: {cache_results: false, parallelise_shardable_queries: false}
pattern_ingester: {enabled: true}
compactor: {working_directory: DIR/compactor, retention_enabled: true, delete_request_store: filesystem}
analytics: {reporting_enabled: false}
schema_config:
  configs:
    - {from: 2020-01-01, store: tsdb, object_store: filesystem, schema: v13, index: {prefix: index_, period: 24h}}
limits_config:
  discover_service_name: SERVICES
  discover_log_levels: LEVELS
  allow_structured_metadata: true
  reject_old_samples: false
  volume_enabled: true
  max_query_length: 0s
  split_queries_by_interval: 24h
  deletion_mode: filter-and-delete
  ingestion_rate_mb: 100
  ingestion_burst_size_mb: 200
  per_stream_rate_limit: 100MB
  per_stream_rate_limit_burst: 200MB
`

// Start starts a Loki with its files in dir, and waits until it is ready. With discover it
// makes the labels service_name and detected_level, as it does by default.
func Start(ctx context.Context, binary, dir string, discover bool) (*Process, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	services := "[]"
	if discover {
		services = "[service, app, application, app_name, name, app_kubernetes_io_name, container, container_name, k8s_container_name, component, workload, job, k8s_job_name]"
	}
	text := strings.NewReplacer("DIR", dir, "HTTP", fmt.Sprint(ports[0]), "GRPC", fmt.Sprint(ports[1]),
		"SERVICES", services, "LEVELS", fmt.Sprint(discover)).Replace(config)
	file := filepath.Join(dir, "loki.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	output, err := os.Create(filepath.Join(dir, "loki.out"))
	if err != nil {
		return nil, err
	}
	p := &Process{URL: fmt.Sprintf("http://127.0.0.1:%d", ports[0]), exited: make(chan struct{}), output: output}
	p.cmd = exec.CommandContext(ctx, binary, "-config.file="+file)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.cmd.Wait(); close(p.exited) }()
	if err := p.await(ctx, "ready", func() bool {
		status, _, err := p.get("/ready", nil)
		return err == nil && status == http.StatusOK
	}); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// freePorts returns ports of the loopback interface that nobody uses.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// Stop ends the process.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill()
	<-p.exited
	p.output.Close()
}

func (p *Process) await(ctx context.Context, what string, ok func() bool) error {
	for range 1200 {
		if ok() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.exited:
			return fmt.Errorf("loki exited before it was %s: see %s", what, p.output.Name())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("loki is not %s after 2 minutes: see %s", what, p.output.Name())
}

func (p *Process) get(path string, query url.Values) (status int, body []byte, err error) {
	resp, err := http.Get(p.URL + path + "?" + query.Encode())
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Push sends entries as JSON, 500 at a time, flushes them, and waits until all are counted.
func (p *Process) Push(ctx context.Context, entries []Entry) error {
	for from := 0; from < len(entries); from += 500 {
		body, err := PushBody(entries[from:min(from+500, len(entries))])
		if err != nil {
			return err
		}
		resp, err := http.Post(p.URL+"/loki/api/v1/push", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent {
			return fmt.Errorf("push: %s: %s", resp.Status, text)
		}
	}
	resp, err := http.Post(p.URL+"/flush", "", nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	want := fmt.Sprint(len(entries))
	got := ""
	err = p.await(ctx, "complete", func() bool {
		got = p.count()
		return got == want
	})
	if err != nil {
		return fmt.Errorf("%w: it counts %s of %s entries", err, got, want)
	}
	return nil
}

// count returns how many entries a query finds.
func (p *Process) count() string {
	_, body, err := p.get("/loki/api/v1/query", url.Values{
		"query": {`sum(count_over_time({app=~".+"}[2h]))`}, "time": {fmt.Sprint(Base + int64(90*time.Minute))},
	})
	var r struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err != nil || json.Unmarshal(body, &r) != nil || len(r.Data.Result) == 0 {
		return "none"
	}
	return fmt.Sprint(r.Data.Result[0].Value[1])
}
