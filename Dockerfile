# The service in a container: built from a checkout, run as a user without rights on a root that is read only. What it keeps is
# in /data, which must be a volume. Kept small, and not built where it was written (docs/guides/deploying.md).
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# The image brings Node, so the install scripts of the package `node`, which would bring another, do not run.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
COPY web web
RUN node scripts/build.ts && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production QRS_HOST=0.0.0.0 QRS_PORT=8080 QRS_DATA_DIR=/data
WORKDIR /app
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
COPY bin bin
RUN ln -s /app/bin/qrs.js /usr/local/bin/qrs && install -d -o node -g node -m 700 /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.QRS_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/bin/qrs.js"]
CMD ["serve"]
