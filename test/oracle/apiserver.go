package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/test/plane"
)

// Flags returns flags with which the API server only validates: all gates are open, and plugins
// that change manifests or need other objects are off.
func Flags() []string {
	return []string{
		// Without StorageVersionAPI, which needs a controller that does not run here.
		"--feature-gates", "AllAlpha=true,AllBeta=true,StorageVersionAPI=false", "--runtime-config", "api/all=true",
		"--disable-admission-plugins", "ServiceAccount,Priority,RuntimeClass,LimitRanger,DefaultTolerationSeconds," +
			"DefaultStorageClass,PodSecurity,TaintNodesByCondition,StorageObjectInUseProtection,PersistentVolumeClaimResize," +
			"ClusterTrustBundleAttest,PodTopologyLabels",
	}
}

// APIServer judges manifests with a running API server.
type APIServer struct {
	*plane.Plane
	Client *http.Client
}

// Judge returns the verdict of the API server, which stores nothing. Ephemeral containers can only
// be added to an existing pod, so that pod is made first.
func (a APIServer) Judge(ctx context.Context, c Case) (Verdict, error) {
	spec, _ := c.Object["spec"].(map[string]any)
	if spec["ephemeralContainers"] == nil {
		return a.ask(ctx, http.MethodPost, path(c)+dryRun, c.Object)
	}
	without := Case{Object: merge(c.Object, map[string]any{"spec": map[string]any{"ephemeralContainers": nil}}).(map[string]any)}
	if made, err := a.ask(ctx, http.MethodPost, path(c), without.Object); err != nil || !made.Taken {
		return made, err
	}
	one := path(c) + "/" + c.Object["metadata"].(map[string]any)["name"].(string)
	verdict, err := a.ask(ctx, http.MethodPut, one+"/ephemeralcontainers"+dryRun, c.Object)
	if err != nil {
		return Verdict{}, err
	}
	if gone, err := a.ask(ctx, http.MethodDelete, one+"?gracePeriodSeconds=0", nil); err != nil || !gone.Taken {
		return Verdict{}, fmt.Errorf("delete the pod that was made: %s, %w", gone.Why, err)
	}
	return verdict, nil
}

const dryRun = "?dryRun=All&fieldValidation=Strict"

func (a APIServer) ask(ctx context.Context, method, path string, object map[string]any) (Verdict, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return Verdict{}, err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d%s", a.Ports.Secure, path)
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return Verdict{}, err
	}
	request.Header.Set("Authorization", "Bearer "+a.Token(plane.Admin))
	request.Header.Set("Content-Type", "application/json")
	response, err := a.Client.Do(request)
	if err != nil {
		return Verdict{}, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusCreated || response.StatusCode == http.StatusOK {
		return Verdict{Taken: true}, nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Verdict{}, err
	}
	return statusVerdict(response.StatusCode, body)
}

func statusVerdict(code int, body []byte) (Verdict, error) {
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return Verdict{}, fmt.Errorf("read the answer %d %s: %w", code, body, err)
	}
	switch code {
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
	default:
		return Verdict{}, fmt.Errorf("the API server answers %d: %s", code, status.Message)
	}
	var fields []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	return refused(fields, status.Message), nil
}

// path returns where the API server keeps objects of a case's kind.
func path(c Case) string {
	version, _ := c.Object["apiVersion"].(string)
	root := "/api/" + version
	if strings.Contains(version, "/") {
		root = "/apis/" + version
	}
	kind, ok := node.KindNamed(c.Kind())
	switch {
	case c.Kind() == "Pod":
		return root + "/namespaces/default/pods"
	case !ok:
		return ""
	case kind.Namespaced:
		return root + "/namespaces/default/" + kind.Plural
	}
	return root + "/" + kind.Plural
}
