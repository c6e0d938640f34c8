# A static program and nothing else: docker build -t mipam:0.1.0 .
FROM rust:1-alpine AS build
RUN apk add --no-cache musl-dev
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin mipam

FROM scratch
COPY --from=build /src/target/release/mipam /mipam
USER 65532:65532
ENTRYPOINT ["/mipam"]
