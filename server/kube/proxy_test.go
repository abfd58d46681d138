package kube

import (
	"net/http"
	"net/url"
	"reflect"
	"testing"
)

// A browser follows a redirect with the user's session, wherever on the node it leads.
func TestRedirectsOfServersInPodsStayBelowTheirPath(t *testing.T) {
	const base, host, own = "/ui/open/SECRET", "web:9", "node:10250"
	for _, c := range []struct{ name, location, want string }{
		{"a path", "/home?x=1#y", base + "/home?x=1#y"},
		{"a path that is escaped", "/a%2Fb%20c/", base + "/a%2Fb%20c/"},
		{"a relative path", "next", base + "/dir/next"},
		{"one above", "../next/..", base + "/"},
		{"a query alone", "?page=2", "?page=2"},
		{"the pod's host", "http://web:9/home", base + "/home"},
		{"the pod's host alone", "http://web:9", base + "/"},
		{"another host", "https://other.test/../x", "https://other.test/../x"},
		{"another address", "https://192.0.2.7:8443/", "https://192.0.2.7:8443/"},
		{"no redirect", "", ""},

		{"a path out of it", "/../../../v1/pods", base + "/v1/pods"},
		{"by escaped dots", "/%2e%2E/.%2e/%2e%2e/v1/pods", base + "/v1/pods"},
		{"a relative path out of it", "../../../../v1/pods", base + "/v1/pods"},
		{"on the pod's host", "//web:9/../../../v1/pods", base + "/v1/pods"},
		{"three slashes", "///v1/pods", base + "/v1/pods"},
		{"dots escaped twice are a name", "/%252e%252e/x", base + "/%252e%252e/x"},
		{"backslashes", `..\..\..\v1`, ""},
		{"a backslash for a slash", `/\node:10250/v1`, ""},
		{"what does not parse", "/%zz", ""},
		{"the node", "https://node:10250/v1/pods", ""},
		{"the node in capitals", "//NODE:10250/v1/pods", ""},
		{"the node with a user", "https://a@node:10250/v1/pods", ""},
		{"another port of the node, to which its cookies are sent too", "https://node:8443/", ""},
		{"the node in letters that mean the same", "https://ｎode:10250/v1/pods", ""},
		{"a short address", "https://127.1:10250/v1/pods", ""},
		{"a scheme without a host", "https:/v1/pods", ""},
		{"a scheme without a path", "https:v1/pods", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := &http.Response{
				Header:  http.Header{"Location": {c.location, "https://node:10250/v1/pods"}, "Refresh": {"0; url=/v1/pods"}, "Content-Location": {"/v1/pods"}},
				Request: &http.Request{URL: &url.URL{Path: "/dir/page"}},
			}
			confine(reply, base, host, own)
			if got := reply.Header.Values("Location"); c.want == "" && len(got) != 0 || c.want != "" && (len(got) != 1 || got[0] != c.want) {
				t.Errorf("%q leads to %q, want %q", c.location, got, c.want)
			}
			if reply.Header.Get("Refresh")+reply.Header.Get("Content-Location") != "" {
				t.Errorf("other ways to the node: %v", reply.Header)
			}
		})
	}
	reply := &http.Response{Header: http.Header{"Location": {"https://[0:0::1]:10250/v1/pods"}}, Request: &http.Request{URL: &url.URL{Path: "/"}}}
	if confine(reply, base, host, "[::1]:10250"); len(reply.Header["Location"]) != 0 {
		t.Errorf("an address in other words leads to %q", reply.Header["Location"])
	}
}

func TestServersInPodsChangeNothingThatBrowsersKeepOfTheNode(t *testing.T) {
	given := http.Header{"Content-Type": {"text/html"}}
	for _, name := range []string{
		"Set-Cookie", "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data", "Service-Worker-Allowed", "NEL", "Report-To",
		"Reporting-Endpoints", "Accept-CH", "Critical-CH", "Secure-Session-Registration", "Sec-Session-Registration",
	} {
		given.Add(name, "x")
	}
	reply := &http.Response{Header: given, Request: &http.Request{URL: &url.URL{Path: "/"}}}
	confine(reply, "/ui/open/SECRET", "web:9", "node:10250")
	want := http.Header{"Content-Type": {"text/html"}, "X-Content-Type-Options": {"nosniff"}, "Content-Security-Policy": reply.Header["Content-Security-Policy"]}
	if !reflect.DeepEqual(reply.Header, want) {
		t.Errorf("got %v, want %v", reply.Header, want)
	}
}
