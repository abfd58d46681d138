package kms

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	kmsapi "k8s.io/kms/apis/v2"
)

// Plugin is a KMS plugin behind a Unix socket.
type Plugin struct {
	Socket  string
	Timeout time.Duration // of each call; zero means three seconds, as in Kubernetes
}

// WrappedKey is a data key as the plugin has encrypted it. Its names are part of records on the disk.
type WrappedKey struct {
	KeyID       string            `json:"keyId"`
	Data        []byte            `json:"dataKey"`
	Annotations map[string][]byte `json:"annotations,omitempty"`
}

const usualTimeout = 3 * time.Second

// Status returns the ID of the key that the plugin encrypts with now.
func (p Plugin) Status(ctx context.Context) (keyID string, err error) {
	err = p.call(ctx, "Status", func(ctx context.Context, client kmsapi.KeyManagementServiceClient) error {
		answer, err := client.Status(ctx, &kmsapi.StatusRequest{})
		if err != nil {
			return err
		}
		keyID = answer.GetKeyId()
		return checkStatus(answer)
	})
	return keyID, err
}

// Wrap has the plugin encrypt a data key.
func (p Plugin) Wrap(ctx context.Context, dataKey []byte) (wrapped WrappedKey, err error) {
	err = p.call(ctx, "Encrypt", func(ctx context.Context, client kmsapi.KeyManagementServiceClient) error {
		answer, err := client.Encrypt(ctx, &kmsapi.EncryptRequest{Plaintext: dataKey, Uid: rand.Text()})
		if err != nil {
			return err
		}
		wrapped = WrappedKey{KeyID: answer.GetKeyId(), Data: answer.GetCiphertext(), Annotations: answer.GetAnnotations()}
		return checkWrapped(wrapped)
	})
	return wrapped, err
}

// Unwrap has the plugin decrypt a data key.
func (p Plugin) Unwrap(ctx context.Context, wrapped WrappedKey) (dataKey []byte, err error) {
	err = p.call(ctx, "Decrypt", func(ctx context.Context, client kmsapi.KeyManagementServiceClient) error {
		answer, err := client.Decrypt(ctx, &kmsapi.DecryptRequest{
			Ciphertext: wrapped.Data, Uid: rand.Text(), KeyId: wrapped.KeyID, Annotations: wrapped.Annotations,
		})
		dataKey = answer.GetPlaintext()
		return err
	})
	return dataKey, err
}

// call makes one call on a connection of its own: gRPC's pauses between attempts to connect would outlast the outage of a
// plugin. Its error names the socket.
func (p Plugin) call(
	ctx context.Context, method string, do func(context.Context, kmsapi.KeyManagementServiceClient) error,
) error {
	limit := p.Timeout
	if limit == 0 {
		limit = usualTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///kms",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", p.Socket)
		}),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
	)
	if err == nil {
		defer conn.Close()
		err = do(ctx, kmsapi.NewKeyManagementServiceClient(conn))
	}
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		return fmt.Errorf("KMS plugin at %s: %s: %s (%s)", p.Socket, method, s.Message(), s.Code())
	}
	return fmt.Errorf("KMS plugin at %s: %s: %w", p.Socket, method, err)
}
