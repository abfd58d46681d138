package server

import (
	"strings"
	"testing"
)

func TestServicesAreServed(t *testing.T) {
	const (
		services = "/api/v1/namespaces/default/services"
		slices   = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
		table    = "application/json;as=Table;v=v1;g=meta.k8s.io"
		web      = `{"kind":"Service","apiVersion":"v1","metadata":{"name":"web"},"spec":{"type":"NodePort","selector":{"app":"web"},` +
			`"clusterIP":"10.96.0.77","ports":[{"port":80,"targetPort":8080,"nodePort":30077}]}}`
		balanced = `{"kind":"Service","apiVersion":"v1","metadata":{"name":"wide"},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}}`
		slice    = `{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"name":"web-1"},"addressType":"IPv4",` +
			`"endpoints":[{"addresses":["10.89.0.2"]},{"addresses":["10.89.0.3"]},{"addresses":["10.89.0.4"]},{"addresses":["10.89.0.5"]}],"ports":[{"port":8080}]}`
	)
	n := newNode(t)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"a service", "POST", services, web, 201, `"clusterIPs":["10.96.0.77"]`},
		{"its row", "GET", services, "", 200, `"cells":["web","NodePort","10.96.0.77","\u003cnone\u003e","80:30077/TCP"`},
		{"one that has its address", "POST", services, strings.Replace(web, `"name":"web"`, `"name":"more"`, 1), 422, "provided IP is already allocated"},
		{"a load balancer", "POST", services, balanced, 201, `"loadBalancer":{}`},
		{"which is pending", "GET", services + "/wide", "", 200, `pending`},
		{"a slice", "POST", slices, slice, 201, `"addressType":"IPv4"`},
		{"its row", "GET", slices, "", 200, `"cells":["web-1","IPv4","8080","10.89.0.2,10.89.0.3,10.89.0.4 + 1 more..."`},
		{"another type of addresses", "PATCH", slices + "/web-1", `{"addressType":"IPv6","endpoints":[]}`, 422, "addressType"},
		{"a deletion", "DELETE", services + "/web", "", 200, "Success"},
		{"after it", "GET", services + "/web", "", 404, `services \"web\" not found`},
	} {
		kind := "application/json"
		if c.method == "PATCH" {
			kind = "application/merge-patch+json"
		}
		got := n.do(t, c.method, c.path, c.body, "Content-Type", kind, "Accept", map[bool]string{true: table, false: "application/json"}[c.method == "GET"])
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %.900s\nwant %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
}
