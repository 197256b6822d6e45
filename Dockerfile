# syntax=docker/dockerfile:1

# The build needs a C compiler, make and perl for the bundled SQLite, libpq and OpenSSL, and no system library.
FROM rust:1.95.0-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends make perl \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY src src
COPY templates templates
COPY static static
COPY migrations migrations
COPY seed seed
# What cargo downloads and compiles stays in the builder's cache; only the binary becomes part of the image.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked \
    && cp target/release/countersign /usr/local/bin/countersign

FROM debian:bookworm-slim
# curl for the health check, the certificates for encrypted connections to Postgres.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --create-home countersign
COPY --from=build /usr/local/bin/countersign /usr/local/bin/countersign
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/countersign/

USER countersign
# Where the SQLite file goes, unless DATABASE_URL says otherwise.
WORKDIR /data
VOLUME /data
ENV COUNTERSIGN_LISTEN=0.0.0.0:8080 \
    COUNTERSIGN_PUBLIC_URL=http://localhost:8080 \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:8080/healthz"]
ENTRYPOINT ["countersign"]
CMD ["serve"]
