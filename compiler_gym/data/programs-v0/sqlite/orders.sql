-- Joins, aggregates, windows, recursion, JSON and a transaction that is rolled back.
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INT REFERENCES customer, cents INT, day INT);
CREATE INDEX purchase_by_customer ON purchase(customer, day);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO customer SELECT i, 'name' || (i * 7919 % 1000), char(65 + i % 7) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
INSERT INTO purchase SELECT i, 1 + i * 37 % 200, i * 7907 % 10007, i % 365 FROM n;
.mode column
SELECT city, count(*) AS purchases, sum(cents) AS cents, max(day) AS last
  FROM customer JOIN purchase ON customer.id = purchase.customer GROUP BY city ORDER BY cents DESC;
SELECT name, cents, rank() OVER (PARTITION BY city ORDER BY cents DESC, name) AS place
  FROM customer JOIN purchase ON customer.id = purchase.customer
  WHERE day BETWEEN 100 AND 102 ORDER BY place, cents DESC, name LIMIT 12;
BEGIN;
DELETE FROM purchase WHERE cents % 2;
SELECT count(*) FROM purchase;
ROLLBACK;
SELECT count(*) FROM purchase;
.mode list
SELECT json_group_array(json_object('city', city, 'customers', n))
  FROM (SELECT city, count(*) AS n FROM customer GROUP BY city ORDER BY city);
SELECT group_concat(upper(substr(name, 1, 1)) || printf('%03d', id), ' ') FROM customer WHERE id < 9;
EXPLAIN QUERY PLAN SELECT * FROM purchase WHERE customer = 5 AND day > 9;
