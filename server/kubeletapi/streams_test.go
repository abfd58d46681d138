package kubeletapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

func TestStreamsAreRefusedBeforeTheUpgrade(t *testing.T) {
	h := serve(needs(func(*Config) {}))
	cases := []struct {
		name, path string
		want       int
	}{
		{"there is no such pod", "/exec/default/none/main?command=sh&output=1", 404},
		{"another pod has the name", "/exec/default/web/uid-0/main?command=sh&output=1", 404},
		{"no stream is asked for", "/exec/default/web/main?command=sh", 400},
		{"no command is given", "/exec/default/web/main?output=1", 400},
		{"the container does not run", "/exec/default/waiting/main?command=sh&output=1", 500},
		{"there is no such pod to attach to", "/attach/default/none/main?output=1", 404},
		{"another pod has the name to attach to", "/attach/default/web/uid-0/main?output=1", 404},
		{"no stream to attach is asked for", "/attach/default/web/main", 400},
		{"what to attach to does not run", "/attach/default/waiting/main?output=1", 500},
		{"there is no such pod to forward to", "/portForward/default/none", 404},
		{"another pod has the name to forward to", "/portForward/default/web/uid-0", 404},
		{"what to forward to does not run", "/portForward/default/waiting", 500},
		{"forwarding needs an upgrade", "/portForward/default/web", 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{"GET", "POST"} {
				if code, body := ask(t, h, method, c.path, ""); code != c.want {
					t.Errorf("%s: got %d %s, want %d", method, code, body, c.want)
				}
			}
		})
	}
}

func TestExecAndAttachEndWithAnAPIServerThatHangsUp(t *testing.T) {
	for _, path := range []string{"exec", "attach"} {
		t.Run(path, func(t *testing.T) {
			ctx, hangUp := context.WithCancel(t.Context())
			ended := make(chan struct{})
			hold := func(ctx context.Context) error {
				hangUp()
				<-ctx.Done()
				close(ended)
				return ctx.Err()
			}
			front := httptest.NewServer(serve(needs(func(c *Config) {
				c.Streams.Containers = containers{exec: hold, attach: hold}
			})))
			defer front.Close()
			address, err := url.Parse(front.URL + "/" + path + "/default/web/main?command=sh&output=1")
			if err != nil {
				t.Fatal(err)
			}
			client, err := remotecommand.NewSPDYExecutor(&clientrest.Config{Host: front.URL}, http.MethodPost, address)
			if err != nil {
				t.Fatal(err)
			}
			_ = client.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard}) // it was cancelled
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
		})
	}
}
